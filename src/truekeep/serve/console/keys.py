"""Keys: which master key wraps this keep's, its public half, and what is under way. No key is ever shown."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import TruekeepError
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.operate import places
from truekeep.stores.files import keyring
from truekeep.stores.keys import public_key
from truekeep.stores.master import MasterKeys

router = APIRouter()


@router.get("/k/{keep}/keys")
def keys(desk: Seated) -> Response:
    """The state of the keys that this keep stands under."""
    return desk.page("keys.html", here="operate", place="keys", places=places(desk), **_known(desk))


def _known(desk: Desk) -> dict[str, Any]:
    pool, name = desk.service.pool, desk.identity.keep(desk.keep_name)
    ring, told = keyring(pool.paths, pool.settings), dict[str, Any]()
    try:
        opened = ring.open(name)
        told = {
            "master": MasterKeys(pool.paths.keys, pool.settings.master_key).current().id,
            "wrapped_by": ring.wrapped_by(name),
            "cipher": opened.cipher,
            "epochs": len(opened.epochs),
            "is_rotating": bool(opened.pending),
            "public_key": public_key(opened),
            "problem": "",
        }
    except TruekeepError as error:
        told = {"problem": str(error)}
    source = pool.settings.master_key.partition(":")[0]
    return {"told": told, "source": source}
