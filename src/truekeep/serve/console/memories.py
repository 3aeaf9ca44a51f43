"""The memories: browse, search and filter them, and all that is known about one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from truekeep.read.browse import CURRENT, STATES, Sought
from truekeep.read.reader import sanitised_json
from truekeep.read.recall import Filters
from truekeep.review.advice import NOTHING_TO_DO, memory_code
from truekeep.serve.console.charts import ChartNode, Graph, graph
from truekeep.serve.console.desk import Desk, DeskEntry, Seated
from truekeep.types import Recalled, Standing, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.keep import Keep

router = APIRouter()
ENTRY = DeskEntry("memories", "memories")
STANDINGS = tuple(standing.label for standing in sorted(Standing, reverse=True))
_ACTS = {"yes": True, "no": False}
_MOST_HITS, _ON_A_PAGE, _MOST_KIN, _MOST_TOLD, _MOST_PROPOSED = 40, 40, 6, 60, 3

DONE = ("edit", "delete", "restore", "restrict", "share", "lift")
"""What can be done with one memory, as an address says that it was."""

Words = Annotated[str, Query(max_length=500)]
Name = Annotated[str, Query(max_length=500)]
Choice = Annotated[str, Query(max_length=20)]


@router.get("/k/{keep}/memories")
def memories(
    desk: Seated,
    q: Words = "",
    standing: Choice = "",
    acts: Choice = "",
    state: Choice = "",
    channel: Name = "",
    principal: Name = "",
    session: Name = "",
    before: Annotated[int | None, Query(ge=-(1 << 60), le=1 << 60)] = None,
) -> Response:
    """The list, newest first; with words, the best answers first."""
    asked = {
        "q": q.strip(),
        "standing": standing if standing in STANDINGS else "",
        "acts": acts if acts in _ACTS else "",
        "state": state if state in STATES and state != CURRENT else "",
        "channel": channel,
        "principal": principal,
        "session": session,
    }
    sought = Sought(
        standing=Standing[standing.upper()] if asked["standing"] else None,
        may_act=_ACTS.get(acts),
        state=asked["state"] or CURRENT,
        channel=channel or None,
        principal=principal or None,
        session=session or None,
    )
    with desk.open() as keep:
        if asked["q"]:
            found: dict[str, Any] = _searched(keep, asked["q"], sought)
        else:
            listing = keep.browse(sought, before=before, limit=_ON_A_PAGE)
            found = {"listed": listing.entries, "before": listing.before, "left": listing.left, "withheld": {}}
        sources = keep.sources(most=50)
        proposed = keep.proposed_pins(_MOST_PROPOSED) if not any(asked.values()) and before is None else []
    return desk.page(
        "memories.html",
        here="memories",
        asked=asked,
        is_filtered=any(asked.values()),
        choices={"standing": STANDINGS, "acts": tuple(_ACTS), "state": STATES},
        channels=[name for name, _ in sources["channel"]],
        older=desk.path("memories", **asked, before=found["before"]) if found["before"] is not None else "",
        at=utc_moment,
        proposed=proposed,
        **found,
    )


@router.get("/k/{keep}/memories/{memory_id}")
def memory(desk: Seated, memory_id: str, done: Choice = "") -> Response:
    """One memory: what it says, may do and why, where it came from; to an administrator its versions and who saw it."""
    with desk.open() as keep:
        is_whole = desk.may("admin")
        told = keep.trace(memory_id, most=_MOST_TOLD).as_dict() if is_whole else _untraced(keep, memory_id)
        versions = keep.history(memory_id) if is_whole else []
        can = _possible(desk, keep, told)
    shown = told["memory"]
    return desk.page(
        "memory.html",
        can=can,
        done=done if done in DONE else "",
        here="memories",
        told=told,
        shown=shown,
        advice="" if (code := memory_code(shown)) in NOTHING_TO_DO else code,
        versions=versions[::-1][:_MOST_TOLD],
        chain=_chain(desk, told),
        at=utc_moment,
    )


@router.post("/k/{keep}/memories/{memory_id}/pin")
def pin(desk: Seated, memory_id: str) -> Response:
    """Put a memory first in every prompt."""
    with desk.open() as keep:
        keep.pin(memory_id, via=desk.decides_as(keep))
    return desk.back_to(desk.path("memories", memory_id))


@router.post("/k/{keep}/memories/{memory_id}/unpin")
def unpin(desk: Seated, memory_id: str) -> Response:
    """Take its pin away."""
    with desk.open() as keep:
        keep.unpin(memory_id, via=desk.decides_as(keep))
    return desk.back_to(desk.path("memories", memory_id))


def _possible(desk: Desk, keep: Keep, told: dict[str, Any]) -> frozenset[str]:
    """What this person could do with a memory as it stands; each route asks again."""
    shown, found = told["memory"], set[str]()
    if shown["blocked"] and desk.may("reviewer"):
        found.add("look")
    if not desk.may("admin"):
        return frozenset(found)
    if told["state"] != "active":
        return frozenset(found | ({"restore"} if told["state"] in ("deleted", "forgotten") else set()))
    is_altered = "unverified_record" in shown["block_reason"]
    found |= {"delete"} if is_altered else {"delete", "edit"}
    if keep.memories.is_liftable(told["id"]):
        found.add("lift")
    elif shown["may_act"]:
        found.add("restrict")
    if keep.channels.is_shared() and shown["standing"] == "owner" and not found & {"lift"} and desk.may("reviewer"):
        found.add("share")
    return frozenset(found)


def _untraced(keep: Keep, memory_id: str) -> dict[str, Any]:
    """As much of a trace as everybody who may read is told."""
    shown = keep.get_memory(memory_id) | {"reading": keep.trace(memory_id, most=0).as_dict()["memory"]["reading"]}
    counts = {"children": 0, "exposures": 0}
    kin: dict[str, Any] = {"parents": [], "children": [], "exposures": [], "decisions": []}
    return {"id": shown["id"], "memory": shown, "state": "active", "counts": counts, **kin}


def _searched(keep: Keep, words: str, sought: Sought) -> dict[str, Any]:
    hits = keep.recall(words, k=_MOST_HITS, influence_only=sought.may_act is True, filters=Filters(where=sought.names))
    entries = [
        _entry(hit)
        for hit in hits
        if (sought.may_act is not False or not hit.may_act) and (sought.state != "blocked" or hit.blocked)
    ]
    return {"listed": entries, "before": None, "left": 0, "withheld": hits.withheld}


def _entry(hit: Recalled) -> dict[str, Any]:
    """A hit as the listing shows a memory."""
    kept = hit.memory
    return {
        "id": kept.id,
        "content": hit.text,
        "blocked": hit.blocked,
        "standing": kept.standing.label,
        "may_act": hit.may_act,
        "pinned": kept.pinned,
        "why": hit.why,
        "over": hit.retired_by is not None,
        "created_at": utc_text(kept.created_at),
        "expires_at": utc_text(kept.expires_at) if kept.expires_at else None,
        "topics": list(kept.topics),
        "origin": sanitised_json(kept.origin.as_dict()),
        "contests": list(hit.contests),
        "version": kept.version,
    }


def _chain(desk: Desk, told: dict[str, Any]) -> Graph:
    """Where it came from, it, and what came of it."""
    origin = told["memory"]["origin"]
    parents, children = told["parents"][:_MOST_KIN], told["children"][:_MOST_KIN]

    def node(one: dict[str, Any]) -> ChartNode:
        kind = "blocked" if one["blocked"] else "acts" if one["may_act"] else one["standing"] or "gone"
        label = desk.words.t("memories.blocked") if one["blocked"] else one["content"] or one["id"]
        return ChartNode(one["id"], kind, label, one["from"] or "", desk.path("memories", one["id"]))

    source = ChartNode("source", "source", origin.get("principal") or origin["channel"], origin["channel"])
    this = ChartNode(told["id"], "this", told["memory"]["content"], told["memory"]["standing"])
    first = [("source", one["id"]) for one in parents] or [("source", told["id"])]
    edges = [*first, *((one["id"], told["id"]) for one in parents), *((told["id"], one["id"]) for one in children)]
    return graph([[source], [node(one) for one in parents], [this], [node(one) for one in children]], edges)
