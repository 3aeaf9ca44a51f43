"""One item as a person needs it to decide: the text made visible, what was found, its origin, what it could do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from truekeep.claims.lineage import Chain
from truekeep.quarantine.queue import QueueFilter, QueueGroup
from truekeep.review.decisions import EDITABLE, UNDO_WINDOW, Outlook, item_etag, text_of
from truekeep.rules import builtin
from truekeep.screens.credentials import redact
from truekeep.serve.console.desk import Desk
from truekeep.serve.console.difference import DifferencePiece, differing
from truekeep.serve.console.graph import Picture, drawn
from truekeep.sessions.tools import declared_tools
from truekeep.text.analysis import analysed
from truekeep.trust.flow.tools import tool_for
from truekeep.types import Finding, Item, Severity

if TYPE_CHECKING:
    from truekeep.keep import Keep

_SIMILAR = 4
_QUERY_CAP = 400  # the beginning says what an item is about, and a page has to be quick
_MOST_VALUES = 8  # as many as fit beside the text
_USUAL_ACTIONS = ("pay", "transfer", "send", "refund", "approve", "delete", "share", "grant", "publish", "execute")


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding with what its rule is for."""

    finding: Finding
    title: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Alike:
    """A memory that is like the text, with what differs marked on both sides."""

    memory_id: str
    standing: str
    may_act: bool
    is_concerned: bool
    theirs: Sequence[DifferencePiece]
    ours: Sequence[DifferencePiece]


@dataclass(frozen=True, slots=True)
class Opened:
    """All that is shown of one item."""

    item: Item
    etag: str
    text: str
    spans: Sequence[tuple[int, int]]
    other_fields: Sequence[tuple[str, str, Sequence[tuple[int, int]]]]
    found: Sequence[FindingLine]
    chain: Chain
    picture: Picture
    outlook: Outlook
    alike: Sequence[Alike]
    values: Sequence[str]
    actions: Sequence[tuple[str, bool]]
    same: int
    """How many ask the same, this one included."""
    group: str
    from_source: int
    is_muted: bool
    can_edit: bool
    undo_left: timedelta | None

    @property
    def severity(self) -> str:
        """The worst of what was found."""
        return max((one.finding.severity for one in self.found), default=Severity.INFO).label if self.found else "none"


def opened(desk: Desk, keep: Keep, item_id: str, groups: Sequence[QueueGroup] | None = None) -> Opened:
    """Everything about an item, for the person at that desk."""
    item = keep.review.show(item_id)
    text, outlook = text_of(item), keep.review.outlook(item_id, by=desk.by)
    chain = keep.review.chain(item_id)
    origin = item.memory.origin
    listed = groups if groups is not None else keep.review.groups()
    card = next((c for group in listed for c in group.cards if c.item.id == item_id), None)
    muted = {(mute.channel, mute.principal) for mute in keep.channels.muted()}
    return Opened(
        item=item,
        etag=item_etag(item),
        text=text,
        spans=_spans(item, "text", text),
        other_fields=_other_fields(item),
        found=[_explained(finding) for finding in item.findings],
        chain=chain,
        picture=drawn(chain),
        outlook=outlook,
        alike=_alike(desk, keep, text, outlook),
        values=_values(text),
        actions=_actions(keep),
        same=keep.review.count(QueueFilter(group=card.group)) if card else 1,
        group=card.group if card else "",
        from_source=keep.review.count(QueueFilter(channel=origin.channel, principal=origin.principal or "")),
        is_muted=(origin.channel, origin.principal) in muted,
        can_edit=item.kind in EDITABLE,
        undo_left=undo_left(desk, item),
    )


def _spans(item: Item, field: str, text: str) -> list[tuple[int, int]]:
    """Where something was found. Where secrets are left out of the text its places have moved, and are not marked."""
    original = item.memory.text if field == "text" else text
    if text != original:
        return []
    whole = (0, len(text))
    return [one.span for one in item.findings if one.field == field and one.span != whole and one.span[1] > one.span[0]]


def _other_fields(item: Item) -> list[tuple[str, str, list[tuple[int, int]]]]:
    """Topics, entities and the like, where there are any."""
    memory = item.memory
    named = [("topics", topic) for topic in memory.topics] + [("entities", one) for one in memory.entities]
    named += [(str(key), str(value)) for key, value in list(memory.metadata.items())[:20]]
    return [(name, redact(value) if item.findings else value, []) for name, value in named]


def _explained(finding: Finding) -> FindingLine:
    rule = next((one for one in builtin().rules if one.id == finding.rule_id), None)
    return FindingLine(finding, rule.title if rule else "", rule.description if rule else "")


def _alike(desk: Desk, keep: Keep, text: str, outlook: Outlook) -> list[Alike]:
    """Memories that say something similar; first those that the item is about."""
    if not desk.may_read:
        return []
    concerned = {shown.memory.id: shown for shown in outlook.concerned}
    found = [(one.memory.id, one.text, one.memory.standing.label, one.may_act) for one in concerned.values()]
    if len(found) < _SIMILAR:
        hits = keep.recall(text[:_QUERY_CAP], k=_SIMILAR + len(found))
        found += [
            (hit.memory.id, hit.text, hit.memory.standing.label, hit.may_act)
            for hit in hits
            if hit.memory.id not in concerned
        ]
    listed = []
    for memory_id, other, standing, may_act in found[:_SIMILAR]:
        theirs, ours = differing(other, text)
        listed.append(Alike(memory_id, standing, may_act, memory_id in concerned, theirs, ours))
    return listed


def _values(text: str) -> list[str]:
    """What a tool call could take from it: amounts, accounts, addresses, names."""
    found = (text[slice(*value.span)] for value in analysed(text[: _QUERY_CAP * 4]).values)
    return list(dict.fromkeys(one for one in found if one))[:_MOST_VALUES]


def _actions(keep: Keep) -> list[tuple[str, bool]]:
    """The tools that the operator declared, or usual names of some; and whether they have effects."""
    names = list(keep.settings.tools) or list(_USUAL_ACTIONS)
    declared = declared_tools(keep.settings.tools)
    return [(name, not tool_for(name, declared).is_reading) for name in names[:20]]


def undo_left(desk: Desk, item: Item) -> timedelta | None:
    """How long this person can still take their decision back."""
    if item.effects is None or item.decided_at is None or item.decided_by != desk.by:
        return None
    left = UNDO_WINDOW - (datetime.now(UTC) - item.decided_at)
    return left if left > timedelta(0) else None
