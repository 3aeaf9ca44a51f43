"""Keys: which master key wraps this keep's, its public half, what is under way, and new ones. No key is ever shown."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from truekeep.errors import InvalidRequest, NotAllowed, TruekeepError
from truekeep.ops.key_rotation import rotate_data_key, rotate_master_key
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.operate import places, require_named
from truekeep.serve.console.progress import in_steps
from truekeep.stores.files import keyring
from truekeep.stores.keys import public_key
from truekeep.stores.master import MasterKeys
from truekeep.types import Progress

router = APIRouter()


@router.get("/k/{keep}/keys")
def keys(desk: Seated, done: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The state of the keys that this keep stands under."""
    done = done if done in ("data", "master") else ""
    may = {"data": True, "master": _may_rotate_master(desk)}
    return desk.page("keys.html", here="operate", place="keys", places=places(desk), done=done, may=may, **_known(desk))


@router.post("/k/{keep}/keys/rotate")
def rotate(desk: Seated, form: Form) -> Response:
    """A new data key for this keep, or a new master key for all of them, which takes somebody who is let into all."""
    require_named(desk, form)
    which, reason = form.text("key", 10), form.reason()
    rotated = {"data": _rotate_data, "master": _rotate_master}.get(which)
    if rotated is None:
        raise InvalidRequest("Say which key: data or master.", code="which_key")
    if which == "master" and not _may_rotate_master(desk):
        raise NotAllowed(
            "The master key wraps every keep's key.", code="role_missing", hint="It takes a sign-in for all keeps."
        )

    def work(progress: Progress) -> Response:
        rotated(desk, reason, progress)
        return desk.back_to(desk.path("keys", done=which))

    return in_steps(desk, desk.words.t("operate.key_rotate"), work, here="operate", is_look=False)


def _rotate_data(desk: Desk, reason: str, progress: Progress) -> None:
    pool, name = desk.service.pool, desk.identity.keep(desk.keep_name)
    with pool.alone(name):
        rotate_data_key(name, by=desk.by, reason=reason, home=pool.home, settings=pool.settings, progress=progress)


def _rotate_master(desk: Desk, reason: str, progress: Progress) -> None:
    pool, name = desk.service.pool, desk.identity.keep(desk.keep_name)
    rotate_master_key(name, by=desk.by, reason=reason, home=pool.home, settings=pool.settings, progress=progress)


def _may_rotate_master(desk: Desk) -> bool:
    return desk.identity.keep_pattern == "*"


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
    return {"told": told, "source": source, "is_own": ring.masters.is_own}
