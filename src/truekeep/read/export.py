"""Export: a keep's memories as signed JSON lines, and reading such a file without believing it.

The first line says what it is, the last one signs everything before it with the keep's Ed25519 key. Texts are screened
and sanitised as on any other way out. Whoever imports the file learns that nothing in it was changed, and by whose key
it was signed; what the memories may do in another keep is for that keep's operator to say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.stores.keys import checked_public_key, is_signed_by
from truekeep.types import Standing

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger

KIND, VERSION = "export", 1
_LONGEST_LINE = 1_000_000
"""A memory with all its fields is far below; a longer line is no export of ours."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was exported, verified: unchanged since its keep signed it."""

    public_key: str
    keep: str
    at: str
    memories: tuple[dict[str, Any], ...]


def exported(ledger: Ledger, name: str, at: str, memories: Iterable[dict[str, Any]]) -> list[str]:
    """The lines of an export, signature last. The export itself is audited."""
    public, _ = ledger.sign(b"")
    header = {"truekeep": KIND, "version": VERSION, "keep": name, "at": at, "public_key": public}
    lines = [_line(header), *(_line({"type": "memory", **memory}) for memory in memories)]
    digest = hashlib.sha256("".join(lines).encode())
    with ledger.writing() as entry:
        entry.event("keep.exported", count=len(lines) - 1, sha256=digest.hexdigest())
    _, signed = ledger.sign(_message(digest.digest()))
    trailer = {"type": "signature", "count": len(lines) - 1, "sha256": digest.hexdigest(), "signature": signed}
    return [*lines, _line(trailer)]


def is_export(first_line: str) -> bool:
    """Whether a file that begins with this line says that it is an export."""
    return _object(first_line).get("truekeep") == KIND


def read_export(lines: Sequence[str], *, signer: str | None = None) -> Exported:
    """Verify an export. With ``signer`` it must have been signed by that public key, and by no other."""
    header, trailer = _object(lines[0]), _object(lines[-1])
    if header.get("version") != VERSION:
        raise InvalidRequest("The export is of a version that this truekeep does not know.", code="export_version")
    public = str(header.get("public_key"))
    if signer is not None and checked_public_key(signer) != public:
        raise InvalidRequest(
            "The export was signed by another keep than the one named.",
            code="wrong_signer",
            hint="Compare with 'truekeep keys status' where it was made.",
        )
    digest = hashlib.sha256()
    for line in lines[:-1]:
        digest.update(line.encode("utf-8", "surrogatepass"))
    if trailer.get("type") != "signature" or not is_signed_by(
        public, str(trailer.get("signature")), _message(digest.digest())
    ):
        raise InvalidRequest(
            "The export was changed or cut after it was signed.",
            code="signature_invalid",
            hint="Nothing of it was imported. Get it again from where it was made.",
        )
    memories = tuple(_object(line) for line in lines[1:-1])
    return Exported(public, str(header.get("keep")), str(header.get("at")), memories)


def checked_mapping(entries: Iterable[str]) -> dict[str, str]:
    """``STANDING=CHANNEL`` as the operator typed it: over which channel memories of a standing come in."""
    mapping = {}
    for entry in entries:
        standing, _, channel = entry.partition("=")
        if standing.upper() not in Standing.__members__ or not channel:
            raise InvalidRequest(
                "A mapping has the form STANDING=CHANNEL.", code="invalid_mapping", hint="For example: --map owner=user"
            )
        mapping[standing.lower()] = channel
    return mapping


def _line(members: dict[str, Any]) -> str:
    return json.dumps(members, ensure_ascii=True, separators=(",", ":")) + "\n"


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line) if len(line) <= _LONGEST_LINE else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _message(digest: bytes) -> bytes:
    return b"truekeep export v1\n" + digest
