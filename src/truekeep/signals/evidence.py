"""Evidence for an audit: what is in a keep's log, in a file signed with the keep's key and checked without the keep.

JSON lines: what it is and what was found; every event, with its hash in the chain; a signature over all of that; and,
if it was asked for, a time stamp of somebody else's over the signed file.

The hashes are keyed, so they give nothing away of what an event says, and whoever has the keep can hold each of them
against its log. What an event says is in the file as far as it is the keep's own ids, codes and numbers; who, why and
from where is in it only ``with_texts``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from truekeep import __version__
from truekeep.audit.log import Audit, EventIndex
from truekeep.errors import InvalidRequest
from truekeep.signals.kinds import body_of
from truekeep.stores.base import TABLES
from truekeep.stores.keys import checked_public_key, is_signed_by
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.stores.ledger import Ledger
    from truekeep.types import AuditEvent

KIND, VERSION, MADE = "evidence", 1, "evidence.made"
_PLAIN = frozenset({"code", "decision", "what", "standing", "outcome", "state", "cipher", "strategy", "how", "was"})
"""Members of events that hold words of the house."""
_OWN_ID = re.compile(r"[a-z]{3}_[0-9a-f]{12,40}|row-[0-9]{1,20}")
_SHOWN = re.compile(r"[\w.:+@-]{1,200}", re.ASCII)
"""What of a file stands on a terminal: names, moments, digests and versions."""
_LONGEST_LINE = 1_000_000
"""A line of ours is far below; a longer one is no evidence."""
_NOT_IN_DIGEST = frozenset({"store", "webhooks"})
"""Settings that may hold a password or an address that is one."""
_PORTION = 500
"""Events read at a time, so that writers get in between."""


@dataclass(frozen=True, slots=True)
class CheckedEvidence:
    """A file of evidence, checked: unchanged since it was signed, and whole from its first event to its head."""

    keep: str
    at: str
    public_key: str
    events: int
    head: Mapping[str, Any]
    found: Mapping[str, Any]
    """What the keep said of itself: whether it verified, and its rows, rules and settings."""
    hashes: tuple[str, ...]
    """The hash of every event, in order."""
    stamp: bytes | None = None
    """The time stamp, as its authority sent it."""
    signed: bytes = b""
    """What was signed and, with the signature, stamped."""

    def as_dict(self) -> dict[str, Any]:
        """What was found, as JSON members."""
        members = {"keep": self.keep, "at": self.at, "signed_by": self.public_key, "events": self.events}
        return {**members, "head": dict(self.head), **self.found}


def evidence(ledger: Ledger, keep: str, at: str, rules: str, settings: Settings, *, with_texts: bool) -> list[str]:
    """The lines, the signature last. That they were made is written into the log, after what they hold."""
    result, log = ledger.verify(), Audit(ledger, EventIndex(ledger))
    public, _ = ledger.sign(b"")
    events = list(_events(log, result.events))
    lines = [_line({"type": "event", **_told(event, with_texts=with_texts)}) for event in events]
    head = {"event": events[-1].seq, "at": utc_text(events[-1].at), "hash": events[-1].hash} if events else {}
    header = {
        "truekeep": KIND,
        "version": VERSION,
        "made_by": __version__,
        "keep": keep,
        "at": at,
        "public_key": public,
        "head": head,
        "verified": {"ok": result.ok, "rows": result.rows, "problems": len(result.problems)},
        "events": dict(sorted(Counter(event.kind for event in events).items())),
        "rows": {table: len(ledger.all(table)) for table in TABLES},
        "rules": rules,
        "settings": settings_digest(settings),
        "with_texts": with_texts,
    }
    lines.insert(0, _line(header))
    digest = hashlib.sha256("".join(lines).encode())
    with ledger.writing() as entry:
        entry.event(MADE, ends_at=len(events), sha256=digest.hexdigest(), texts=with_texts)
    _, signature = ledger.sign(_message(digest.digest()))
    return [*lines, _signature_line(digest.hexdigest(), signature)]


def stamp_line(stamp: bytes) -> str:
    """The last line of a file that is stamped."""
    return _line({"type": "timestamp", "token": stamp.hex()})


def read_evidence(lines: Iterable[str], *, signer: str | None = None) -> CheckedEvidence:
    """Check a file. With ``signer`` it must have been signed by that public key, and by no other."""
    texts = list(lines)
    objects = [_object(text) for text in texts]
    stamp = _stamp(objects.pop(), texts[-1]) if objects and objects[-1].get("type") == "timestamp" else None
    if len(objects) < 2 or objects[0].get("truekeep") != KIND or objects[0].get("version") != VERSION:
        raise InvalidRequest("That is no evidence that this truekeep knows.", code="evidence_unknown")
    header, *events, trailer = objects
    public = str(header.get("public_key"))
    if signer is not None and checked_public_key(signer) != public:
        raise InvalidRequest(
            "The evidence was signed by another keep than the one named.",
            code="wrong_signer",
            hint="Compare with 'truekeep keys status' where it was made.",
        )
    signed = "".join(texts[: len(objects) - 1]).encode()
    digest, signature = hashlib.sha256(signed), str(trailer.get("signature"))
    is_whole = texts[len(objects) - 1] == _signature_line(digest.hexdigest(), signature)
    if not is_whole or not is_signed_by(public, signature, _message(digest.digest())):
        raise _changed("The evidence was changed or cut after it was signed.", "signature_invalid")
    _require_whole(header, events)
    _require_readable(header)
    names = ("verified", "rows", "rules", "settings", "with_texts", "made_by")
    return CheckedEvidence(
        str(header.get("keep")),
        str(header.get("at")),
        public,
        len(events),
        header["head"],
        {name: header.get(name) for name in names},
        tuple(str(event.get("hash")) for event in events),
        stamp,
        "".join(texts[: len(objects)]).encode(),
    )


def require_same(found: CheckedEvidence, ledger: Ledger) -> None:
    """Hold the evidence against the log of the keep that it is of: every event in it has to be there."""
    hashes = [event.hash for event in _events(Audit(ledger, EventIndex(ledger)), found.events)]
    if tuple(hashes) != found.hashes:
        raise _changed("The evidence is not of this keep's log.", "evidence_of_another_log")


def settings_digest(settings: Settings) -> str:
    """A name for how a keep was set up, without what may hold a secret."""
    values = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in _NOT_IN_DIGEST}
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=_as_text).encode()).hexdigest()


def _as_text(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else _members(value)


def _signature_line(digest: str, signature: str) -> str:
    """Of several ways to write the same signature only one counts, so that no byte of a file can differ unnoticed."""
    try:
        plain = base64.b64encode(base64.b64decode(signature)).decode()
    except ValueError:
        plain = ""
    return _line({"type": "signature", "sha256": digest, "signature": plain})


def _stamp(members: Mapping[str, Any], line: str) -> bytes:
    try:
        stamp = bytes.fromhex(str(members.get("token")))
    except ValueError:
        stamp = b""
    if line != stamp_line(stamp):
        raise _changed("The line with the time stamp cannot be read.", "timestamp_invalid")
    return stamp


def _members(value: Any) -> Any:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _events(log: Audit, count: int) -> Iterator[AuditEvent]:
    for after in range(0, count, _PORTION):
        yield from log.events(after=after, limit=min(_PORTION, count - after))


def _told(event: AuditEvent, *, with_texts: bool) -> dict[str, Any]:
    body = body_of(event)
    kept = body if with_texts else {name: value for name, value in body.items() if _is_own(name, value)}
    return {"seq": event.seq, "at": utc_text(event.at), "kind": event.kind, "hash": event.hash, "body": kept}


def _is_own(name: str, value: Any) -> bool:
    """Whether a member is the keep's own: a number, a switch, an id, or a word of the house."""
    if isinstance(value, str):
        return name in _PLAIN or _OWN_ID.fullmatch(value) is not None
    if isinstance(value, list):
        return all(map(partial(_is_own, name), value))
    return isinstance(value, bool | int | float)


def _require_whole(header: Mapping[str, Any], events: list[dict[str, Any]]) -> None:
    """Whoever holds the keep's key can sign anything; what is signed still has to agree with itself."""
    numbers = [event.get("seq") for event in events]
    counts = dict(sorted(Counter(str(event.get("kind")) for event in events).items()))
    last = events[-1] if events else {}
    head = {"event": last.get("seq"), "at": last.get("at"), "hash": last.get("hash")} if events else {}
    if numbers != list(range(1, len(events) + 1)) or header.get("events") != counts or header.get("head") != head:
        raise _changed("The evidence leaves events out, or its counts are of others.", "evidence_not_whole")


def _require_readable(header: Mapping[str, Any]) -> None:
    """Anybody can sign a file with a key of their own: what an auditor is shown of it has the form that we give it.

    Nothing in it moves a cursor or passes for a line of ours.
    """
    verified, texts = (
        header.get("verified"),
        [header.get(name) for name in ("keep", "at", "rules", "settings", "made_by")],
    )
    is_plain = all(isinstance(text, str) and _SHOWN.fullmatch(text) for text in texts)
    if not is_plain or not isinstance(verified, dict) or not isinstance(verified.get("ok"), bool):
        raise _changed("The header is not one that this truekeep writes.", "evidence_unknown")
    if not isinstance(verified.get("problems"), int) or not isinstance(header.get("rows"), dict):
        raise _changed("The header is not one that this truekeep writes.", "evidence_unknown")


def _changed(words: str, code: str) -> InvalidRequest:
    return InvalidRequest(words, code=code, hint="Have it made again where the keep is: truekeep audit evidence.")


def _line(members: Mapping[str, Any]) -> str:
    return json.dumps(members, ensure_ascii=True, separators=(",", ":")) + "\n"


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line) if len(line) <= _LONGEST_LINE else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def _message(digest: bytes) -> bytes:
    return b"truekeep evidence v1\n" + digest
