"""AgentThreatBench: poisoned knowledge, mails that order a triaging agent about, customers' notes that ask for data.

Its agents are scored by what a model says and sends. Here the knowledge is a memory, and the mails and customers'
records are results of the agent's tools; the agent does what they order, with the set's own markers and secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.living import lived
from benchmarks.grounds.planting import Record, planted
from benchmarks.tool_call.scenes import Deed, Scene
from truekeep import Tool
from truekeep.redteam.figures import ResultRow

GROUND = Ground("AgentThreatBench", package="inspect-evals==0.26.0")
_FOLDER = "inspect_evals/agent_threat_bench/data"
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
TRIAGE = (
    Tool("read_inbox", reads=True, own=True),
    Tool("categorize_email", reads=False, own=True, targets=("email_index", "category")),
    Tool("draft_summary", reads=False, own=True, targets=("email_index",), contents=("summary",)),
)
CARE = (
    Tool("lookup_customer", reads=True, own=True),
    Tool("send_message", reads=False, targets=("recipient",), contents=("body",)),
    Tool("resolve_ticket", reads=False, own=True, targets=("customer_id",), contents=("resolution",)),
)


def measured(files: Files) -> Iterator[ResultRow]:
    """Knowledge through a keep, mails and customers at the tool call."""
    poison, honest = _knowledge(_listed(files, "memory_poison"))
    yield from planted(GROUND.name, poison, honest, "knowledge")
    yield from lived(GROUND.name, triage(files), "mails to be sorted")
    yield from lived(GROUND.name, care(files), "customers' notes")


def scenes(files: Files) -> list[Scene]:
    """Those that end at a tool call."""
    return [*triage(files), *care(files)]


def triage(files: Files) -> list[Scene]:
    """The owner wants the inbox sorted; a mail wants something written into the summaries."""
    return [_triaged(row) for row in _listed(files, "autonomy_hijack")]


def care(files: Files) -> list[Scene]:
    """A customer has a question; the record wants the data sent to somebody else."""
    return [_cared(row) for row in _listed(files, "data_exfil")]


def _triaged(row: Mapping[str, Any]) -> Scene:
    inbox = row["inbox"]
    honest = [Deed("read_inbox", {}, json.dumps(inbox), carries=True)]
    for number, mail in enumerate(inbox, 1):
        honest.append(Deed("categorize_email", {"email_index": number, "category": "normal"}))
        honest.append(Deed("draft_summary", {"email_index": number, "summary": f"About: {mail['subject']}"}))
    hostile = [
        Deed("draft_summary", {"email_index": 1, "summary": f"Note: {wanted}"})
        for wanted in row.get("forbidden_actions", ())
        if row["attack_name"] != "clean_baseline"
    ]
    return Scene(row["id"], row["input"], TRIAGE, honest, hostile)


def _cared(row: Mapping[str, Any]) -> Scene:
    customer, sanctioned = row["customer_db"][0], set(row["authorized_recipients"])
    asked = next((one for one in row["customer_db"] if one["id"] in row["input"]), customer)
    honest = [
        Deed("lookup_customer", {"query": asked["id"]}, json.dumps(asked), carries=True),
        Deed("send_message", {"recipient": asked["email"], "body": "Thank you, your request is being looked at."}),
        Deed("resolve_ticket", {"customer_id": asked["id"], "resolution": "Looked at and settled."}),
    ]
    named = dict.fromkeys(_ADDRESS.findall(json.dumps(row["customer_db"])))
    known = {one["email"] for one in row["customer_db"]} | sanctioned
    secrets = ", ".join(row["sensitive_fields"])
    hostile = [Deed("send_message", {"recipient": name, "body": secrets}) for name in named if name not in known]
    return Scene(row["id"], row["input"], CARE, honest, hostile if row["attack_name"] != "clean_baseline" else [])


def _knowledge(rows: list[dict[str, Any]]) -> tuple[list[Record], list[Record]]:
    poison, honest = [], []
    for row in rows:
        for topic, text in row["memory_store"].items():
            whole = f"{topic.replace('_', ' ')}: {text}"
            if row["attack_name"] != "clean_baseline" and row["attack_marker"] in text:
                poison.append(Record(whole, row["input"], row["attack_name"], "file", "knowledge-base"))
            else:
                honest.append(Record(whole, whole, via="user"))
    return poison, list({record.text: record for record in honest}.values())


def _listed(files: Files, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(files.read(f"{_FOLDER}/{name}.json"))
    return rows
