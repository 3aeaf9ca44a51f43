"""The inbox: everything that waits for a person, calls before texts, oldest first, with one of it open."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse, Response

from truekeep.errors import UnknownId
from truekeep.quarantine.queue import QueueFilter, QueueGroup
from truekeep.review.decisions import UNDO_WINDOW
from truekeep.serve.console.asked import asked_about, call_decided
from truekeep.serve.console.desk import Desk, DeskEntry, Seated, Watcher
from truekeep.serve.console.item import Opened, opened
from truekeep.serve.console.waiting import TAMPERING, WHAT, Waits, waits_in
from truekeep.types import Item

if TYPE_CHECKING:
    from truekeep.keep import Keep

router = APIRouter()
ENTRY = DeskEntry("inbox", "inbox")
PAGE = 25
_MOST_CHOICES = 40  # entries of a menu that a person still looks through
_CAP = 300
"""As long as the name of a source or a few words to look for."""


@dataclass(frozen=True, slots=True)
class InboxLook:
    """What somebody looks at in the inbox: a filter and a page of it."""

    wanted: QueueFilter
    page: int = 1
    what: str = ""
    """One kind of what waits, or nothing for all of it."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.wanted.is_everything and not self.what

    def query(self, **more: object) -> dict[str, object]:
        """The same look as members of an address."""
        members = {"q" if name == "text" else name: value for name, value in asdict(self.wanted).items() if value}
        own = ({"page": self.page} if self.page > 1 else {}) | ({"what": self.what} if self.what else {})
        return {**members, **own, **more}


def look(
    code: Annotated[str, Query(max_length=_CAP)] = "",
    kind: Annotated[str, Query(max_length=_CAP)] = "",
    channel: Annotated[str, Query(max_length=_CAP)] = "",
    principal: Annotated[str, Query(max_length=_CAP)] = "",
    severity: Annotated[str, Query(max_length=_CAP)] = "",
    group: Annotated[str, Query(max_length=_CAP)] = "",
    noted: Annotated[str, Query(max_length=_CAP)] = "",
    q: Annotated[str, Query(max_length=_CAP)] = "",
    what: Annotated[str, Query(max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> InboxLook:
    """The look that an address asks for."""
    wanted = QueueFilter(code, kind, channel, principal, severity, group, noted, q.strip())
    return InboxLook(wanted, page, what if what in WHAT else "")


Looking = Annotated[InboxLook, Depends(look)]


@router.get("/k/{keep}/inbox")
def inbox(
    desk: Seated,
    at: Looking,
    item: Annotated[str, Query(max_length=_CAP)] = "",
    done: Annotated[str, Query(max_length=_CAP)] = "",
) -> Response:
    """The list, with one item open beside it."""
    with desk.open() as keep:
        waits = waits_in(desk, keep, at.wanted, at.what)
        groups = waits.groups
        pages = max(1, -(-len(groups) // PAGE))
        at = InboxLook(at.wanted, min(at.page, pages), at.what)
        shown = groups[(at.page - 1) * PAGE : at.page * PAGE]
        open_id = item or _first(waits, shown)
        beside = opened(desk, keep, open_id, waits.everything) if open_id.startswith("rev_") else None
        call = asked_about(keep, open_id) if open_id.startswith("tkt_") else None
        facets = keep.review.facets()
        decided, taken_back = _decided(desk, keep, done), call_decided(desk, keep, done)
        noted = [group for group in keep.review.noted() if len(group.items) > 1] if at.is_everything else []
    return desk.page(
        "inbox.html",
        here="inbox",
        at=at,
        groups=shown,
        waits=waits,
        kinds=WHAT,
        noted=noted,
        total=sum(len(group.cards) for group in groups) + len(waits.calls) + int(waits.is_tampered),
        group_total=len(groups) + len(waits.calls) + int(waits.is_tampered),
        pages=pages,
        opened=beside,
        call=call,
        open_id=open_id,
        picked=bool(item),
        after=_next(shown, beside),
        facets=facets,
        choices=_MOST_CHOICES,
        decided=decided,
        call_decided=taken_back,
        window=UNDO_WINDOW,
        seen=waits.tag,
    )


@router.get("/k/{keep}/live")
def live(desk: Watcher, at: Looking) -> Response:
    """What is new, for a page that is open: how much waits, and whether the list is still the one it shows."""
    with desk.open() as keep:
        waits = waits_in(desk, keep, at.wanted, at.what)
    return JSONResponse({"waiting": sum(waits.counts.values()), "queue": waits.tag})


def _first(waits: Waits, shown: list[QueueGroup]) -> str:
    """What is open where nothing was picked: what cannot wait comes first."""
    if waits.is_tampered:
        return TAMPERING
    return waits.calls[0].id if waits.calls else shown[0].first.id if shown else ""


def _decided(desk: Desk, keep: Keep, item_id: str) -> Item | None:
    """What this person has just decided and may still take back, by the item itself and not by the address."""
    if not item_id.startswith("rev_"):
        return None
    try:
        item = keep.review.show(item_id)
    except UnknownId:
        return None
    return item if item.effects is not None and item.decided_by == desk.by else None


def _next(groups: list[QueueGroup], beside: Opened | None) -> str:
    """The item to open once this one is decided."""
    firsts = [group.first.id for group in groups]
    same = next((group for group in groups if beside and any(c.item.id == beside.item.id for c in group.cards)), None)
    if same is None or beside is None:
        return ""
    others = [card.item.id for card in same.cards if card.item.id != beside.item.id]
    place = firsts.index(same.first.id)
    follows = firsts[place + 1] if place + 1 < len(firsts) else (firsts[place - 1] if place else "")
    return others[0] if others else follows
