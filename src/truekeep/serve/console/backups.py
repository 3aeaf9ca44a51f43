"""Backups: those that were made, and one made now, verified, and handed to the person as a file.

A copy is sealed like the keep itself; only the keep's keys open it, and those are not in it. Putting one back replaces
the keep, so that is done where the service is run and not here.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from truekeep.audit.log import EventFilter
from truekeep.ops.recovery import back_up
from truekeep.serve.console.desk import Seated
from truekeep.serve.console.operate import places

router = APIRouter()
_LISTED = 30


@router.get("/k/{keep}/backups")
def backups(desk: Seated) -> Response:
    """What the log says of copies that were made."""
    with desk.open() as keep:
        made = keep.audit.page(EventFilter(kind="backup.made"), limit=_LISTED)
        head = keep.audit.head
    about = {"made": made.events, "total": made.total, "head": head}
    return desk.page("backups.html", here="operate", place="backups", places=places(desk), **about)


@router.post("/k/{keep}/backups/make")
def make(desk: Seated) -> Response:
    """Make a copy, look at everything in it, and send it; nothing of it stays on the server."""
    name = desk.identity.keep(desk.keep_name)
    with desk.open():
        data = desk.service.pool.paths.data
        folder = Path(mkdtemp(prefix=".backup-", dir=data if data.is_dir() else None))
    try:
        copy = back_up(name, folder / "copy.db", home=desk.service.pool.home, settings=desk.service.pool.settings)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    called = f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.truekeep"
    gone = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(copy.path, filename=called, media_type="application/octet-stream", background=gone)
