"""Backups: those that were made, and one made now, verified, and handed to the person as a file.

A copy is sealed like the keep itself; only the keep's keys open it, and those are not in it. Putting one back replaces
the keep, so that is done where the service is run and not here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, BinaryIO

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from truekeep.audit.log import EventFilter
from truekeep.ops.recovery import back_up
from truekeep.serve.console.desk import Seated
from truekeep.serve.console.operate import places

router = APIRouter()
_LISTED, _PORTION = 30, 1 << 16


@router.get("/k/{keep}/backups")
def backups(desk: Seated) -> Response:
    """What the log says of copies that were made."""
    with desk.open() as keep:
        made = keep.audit.page(EventFilter(kind="backup.made"), limit=_LISTED)
        head = keep.audit.head
    about: dict[str, Any] = {"made": made.events, "total": made.total, "head": head}
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


def _portions(content: BinaryIO) -> Iterator[bytes]:
    with content:
        while portion := content.read(_PORTION):
            yield portion
