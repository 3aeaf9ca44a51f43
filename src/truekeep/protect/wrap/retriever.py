"""``wrap_retriever(retrieve, keep)``: whatever finds documents with ids, read through a sidecar.

A document is a mapping with ``id`` and ``text`` (or ``page_content``, ``content``), or an object with such members, as
LangChain's ``Document`` is. What has no id or no text cannot be looked up, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.protect.wrap.sidecar import SHADOW, GivenEntry, SeenEntry, Sidecar
from truekeep.protect.wrap.values import MEMBER

if TYPE_CHECKING:
    from truekeep.keep import Keep

_TEXTS = ("text", "page_content", "content", "document")


def wrap_retriever(
    retrieve: Callable[..., Any],
    keep: Keep,
    *,
    name: str = "retriever",
    mode: str = SHADOW,
    session: str | None = None,
    influence_only: bool = False,
) -> Callable[..., Any]:
    """The same callable; its documents are marked or blocked as the entries of a wrapped store are."""
    sidecar = Sidecar(keep, store=name, channel="import", mode=mode, session=session, influence_only=influence_only)

    @wraps(retrieve)
    def retrieved(*arguments: Any, **options: Any) -> Any:
        found = retrieve(*arguments, **options)
        if not sidecar.enforces:
            return _watched(sidecar, found)
        documents = list(found)
        seen = sidecar.read([_entry(one) for one in documents])
        pairs = zip(documents, seen, strict=True)
        return [_with(document, one) for document, one in pairs if not sidecar.drops(one.may_act)]

    return retrieved


def _watched(sidecar: Sidecar, found: Any) -> Any:
    documents = found if isinstance(found, list | tuple) else []
    sidecar.watch(lambda: sidecar.read([_entry(one) for one in documents]))
    return found


def _entry(document: Any) -> GivenEntry:
    members = document if isinstance(document, Mapping) else {name: getattr(document, name, None) for name in _names()}
    key = members.get("id")
    field = next((name for name in _TEXTS if isinstance(members.get(name), str)), None)
    if not isinstance(key, str | int) or field is None:
        raise InvalidRequest("A retrieved document has no id or no text.", code="document_without_id")
    rest = {name: one for name, one in members.items() if name not in ("id", field) and one is not None}
    return GivenEntry((), str(key), {field: members[field], **rest})


def _names() -> tuple[str, ...]:
    return ("id", *_TEXTS, "metadata")


def _with(document: Any, seen: SeenEntry) -> Any:
    value = {**seen.value}
    if isinstance(document, Mapping):
        field = next(name for name in _TEXTS if isinstance(document.get(name), str))
        return {"id": document["id"], **value, field: value.get(field, value.get("data")), MEMBER: seen.mark}
    field = next(name for name in _TEXTS if isinstance(getattr(document, name, None), str))
    shown = copy(document)
    setattr(shown, field, value.get(field, value.get("data")))
    if hasattr(document, "metadata"):
        shown.metadata = {**(value.get("metadata") or {}), MEMBER: seen.mark}
    return shown
