"""What a person does with one memory: other words, delete, bring back, restrict, share, or look at what is blocked."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.types import Verdict

router = APIRouter()
_TEXT_CAP = 20_000
"""A text as a form sends it; what the keep takes is its own cap."""


@router.post("/k/{keep}/memories/{memory_id}/edit")
def edit(desk: Seated, memory_id: str, form: Form) -> Response:
    """Give a memory other words; they are screened like the owner's, and the old ones stay in its versions."""
    text, reason = form.text("text", _TEXT_CAP).replace("\r\n", "\n"), form.reason()
    with desk.open() as keep:
        shown = keep.get_memory(memory_id)
        if form.text("version", 20) != str(shown["version"]):
            raise InvalidRequest(
                "The memory was changed by somebody else meanwhile.", code="memory_changed", hint="Read it again."
            )
        _require(
            desk,
            keep.update_memory(
                memory_id,
                text,
                via=desk.decides_as(keep),
                topics=shown["topics"],
                metadata=shown["metadata"] | {"edited_by": desk.by, "edited_because": reason[:200]},
            ),
        )
    return _back(desk, memory_id, "edit")


@router.post("/k/{keep}/memories/{memory_id}/delete")
def delete(desk: Seated, memory_id: str, form: Form) -> Response:
    """Delete it; that can be undone from its page."""
    with desk.open() as keep:
        reason = f"{desk.by}: {form.reason()}"
        _require(desk, keep.delete_memory(memory_id, via=desk.decides_as(keep), reason=reason))
    return _back(desk, memory_id, "delete")


@router.post("/k/{keep}/memories/{memory_id}/restore")
def restore(desk: Seated, memory_id: str) -> Response:
    """Bring back what was deleted; today's screens look at it once more."""
    with desk.open() as keep:
        _require(desk, keep.restore(memory_id, via=desk.decides_as(keep)))
    return _back(desk, memory_id, "restore")


@router.post("/k/{keep}/memories/{memory_id}/restrict")
def restrict(desk: Seated, memory_id: str, form: Form) -> Response:
    """Leave it as background: it informs, and drives no action."""
    with desk.open() as keep:
        keep.memories.restrict(memory_id, via=desk.decides_as(keep), by=desk.by, reason=form.reason())
    return _back(desk, memory_id, "restrict")


@router.post("/k/{keep}/memories/{memory_id}/share")
def share(desk: Seated, memory_id: str, form: Form) -> Response:
    """Let a member's word count for every member of a shared keep."""
    with desk.open() as keep:
        keep.memories.share(memory_id, via=desk.identity.channel, by=desk.by, reason=form.reason())
    return _back(desk, memory_id, "share")


@router.post("/k/{keep}/memories/{memory_id}/lift")
def lift(desk: Seated, memory_id: str, form: Form) -> Response:
    """Take a limit or a share back."""
    with desk.open() as keep:
        keep.memories.lift(memory_id, via=desk.decides_as(keep), by=desk.by, reason=form.reason())
    return _back(desk, memory_id, "lift")


@router.post("/k/{keep}/memories/{memory_id}/look")
def look(desk: Seated, memory_id: str) -> Response:
    """Show a reviewer what a rule blocks, escaped and marked; that somebody looked is written down."""
    with desk.open() as keep:
        text = keep.memories.blocked_text(memory_id, via=desk.identity.channel, by=desk.by)
        shown = keep.get_memory(memory_id)
        try:
            found = keep.weigh(text, via="web").findings
        except TruekeepError:  # longer than what may be written today
            found = ()
    return desk.page("blocked.html", here="memories", shown=shown, text=text, found=found)


def _require(desk: Desk, verdict: Verdict) -> None:
    """Nothing is done by halves: what was not accepted left everything as it was, and the person is told why."""
    if not verdict.accepted:
        hint = desk.words.known(f"advice.refused.{verdict.code}", desk.words.t("advice.refused.other"))
        raise InvalidRequest(verdict.reason, code=verdict.code, hint=hint)


def _back(desk: Desk, memory_id: str, done: str) -> Response:
    return desk.back_to(desk.path("memories", memory_id, done=done))
