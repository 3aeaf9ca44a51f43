"""Backups: those that were made, and one made now, verified, and handed to the person as a file.

A copy is sealed like the keep itself; only the keep's keys open it, and those are not in it. One that is sent back is
first held beside the keep: the person sees what would go and what would come back, and types the keep's name. The
keep need not be readable for any of that, since to be put back may be what it needs.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import Response, StreamingResponse

from truekeep import disk
from truekeep.audit.log import EventFilter
from truekeep.errors import InvalidRequest, StoreError, UnknownId
from truekeep.ops.recovery import back_up
from truekeep.ops.recovery import restore as restore_keep
from truekeep.ops.restore_preview import RestorePreview, preview_restore
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.operate import places, require_named
from truekeep.serve.console.progress import in_steps
from truekeep.stores.base import TABLES
from truekeep.stores.files import offered_path, set_aside_files
from truekeep.types import Progress, utc_moment

router = APIRouter()
_LISTED, _PORTION = 30, 1 << 16
_TOKEN = re.compile(r"[0-9a-f]{24}", re.ASCII)


@router.get("/k/{keep}/backups")
def backups(desk: Seated, done: Annotated[str, Query(max_length=10)] = "") -> Response:
    """What the log says of copies that were made."""
    about: dict[str, Any] = {"made": (), "total": 0, "head": 0, "problem": "", "done": done == "restored"}
    try:
        with desk.open() as keep:
            page = keep.audit.page(EventFilter(kind="backup.made"), limit=_LISTED)
            about |= {"made": page.events, "total": page.total, "head": keep.audit.head}
    except StoreError as error:
        about["problem"] = str(error)
    return desk.page("backups.html", here="operate", place="backups", places=places(desk), **about)


@router.post("/k/{keep}/backups/make")
def make(desk: Seated) -> Response:
    """Make a copy, look at everything in it, and send it; nothing of it stays on the server."""
    pool, name = desk.service.pool, desk.identity.keep(desk.keep_name)
    with desk.open():
        folder = Path(mkdtemp(prefix=".backup-", dir=pool.paths.data if pool.paths.data.is_dir() else None))
    try:
        copy = back_up(name, folder / "copy.db", home=pool.home, settings=pool.settings)
        # It has no name any more before the first byte is sent: whatever becomes of the request, it is gone.
        content = copy.path.open("rb")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    called = f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.truekeep"
    headers = {"Content-Disposition": f'attachment; filename="{called}"', "Content-Length": str(copy.size)}
    return StreamingResponse(_portions(content), headers=headers, media_type="application/octet-stream")


@router.post("/k/{keep}/backups/look")
async def look(desk: Seated, request: Request) -> Response:
    """Take a backup in and say what putting it back would change. It waits beside the keep until that is decided."""
    async with request.form(max_files=1, max_fields=2) as form:
        sent = form.get("backup")
        if not isinstance(sent, UploadFile):
            raise InvalidRequest("Choose the file of a backup.", code="no_backup")
        return await run_in_threadpool(_looked, desk, sent.file)


@router.post("/k/{keep}/backups/restore")
def restore(desk: Seated, form: Form) -> Response:
    """Put the backup back that the person has seen, if the keep still is what it was held beside."""
    require_named(desk, form)
    pool, name, reason = desk.service.pool, desk.identity.keep(desk.keep_name), form.reason()
    token, stands_at = form.text("offered", 30), form.text("stands_at", 20)
    offered = _offered(desk, token)
    if not offered.is_file():
        raise UnknownId("That backup is not here any more.", code="no_backup", hint="Send it again.")

    def work(progress: Progress) -> Response:
        seen = preview_restore(name, offered, home=pool.home, settings=pool.settings, progress=progress)
        if str(seen.stands_at) != stands_at:
            return _told(desk, seen, token, has_changed=True)
        with pool.alone(name):
            restore_keep(name, offered, by=desk.by, reason=reason, home=pool.home, settings=pool.settings)
        offered.unlink(missing_ok=True)
        return desk.back_to(desk.path("backups", done="restored"))

    return in_steps(desk, desk.words.t("operate.restore"), work, here="operate", is_look=False)


def _looked(desk: Desk, sent: BinaryIO) -> Response:
    pool, name = desk.service.pool, desk.identity.keep(desk.keep_name)
    for left in set_aside_files(pool.paths, name):
        if left.name.startswith(offered_path(pool.paths, name, "").name):
            left.unlink(missing_ok=True)  # somebody looked and did not decide
    token = secrets.token_hex(12)
    offered = _offered(desk, token)
    disk.make_directory(offered.parent)
    disk.create(offered)
    with offered.open("wb") as file:
        shutil.copyfileobj(sent, file, _PORTION)

    def work(progress: Progress) -> Response:
        try:
            seen = preview_restore(name, offered, home=pool.home, settings=pool.settings, progress=progress)
        except BaseException:
            offered.unlink(missing_ok=True)
            raise
        return _told(desk, seen, token)

    return in_steps(desk, desk.words.t("operate.restore_plan"), work, here="operate")


def _told(desk: Desk, seen: RestorePreview, token: str, *, has_changed: bool = False) -> Response:
    tables = [table for table in TABLES if table in seen.go or table in seen.come_back]
    about = {"seen": seen, "token": token, "has_changed": has_changed, "tables": tables, "at": utc_moment(seen.made_of)}
    status = 409 if has_changed else 200
    return desk.page("restore.html", status=status, here="operate", place="backups", places=places(desk), **about)


def _offered(desk: Desk, token: str) -> Path:
    if not _TOKEN.fullmatch(token):
        raise UnknownId("That backup is not here any more.", code="no_backup", hint="Send it again.")
    return offered_path(desk.service.pool.paths, desk.identity.keep(desk.keep_name), token)


def _portions(content: BinaryIO) -> Iterator[bytes]:
    with content:
        while portion := content.read(_PORTION):
            yield portion
