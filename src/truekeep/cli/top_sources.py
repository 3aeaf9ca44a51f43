"""Where ``truekeep top`` looks: at the keeps of a home, or at a service. Neither is written to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from truekeep import disk
from truekeep.cli.options import require_keep
from truekeep.config import Paths, Settings
from truekeep.errors import AnswerRefused, ConfigError, NotAllowed, TruekeepError, is_plain_name
from truekeep.trust.fence import one_line
from truekeep.trust.origin import keep_name
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.keep import Keep

_SECONDS = 10.0
_ANSWER_CAP = 1_000_000
"""Bytes of an answer; ten sessions and ten things that wait are a few thousand."""
_OVERVIEW = {"keep": str, "at": str, "ok": bool} | dict.fromkeys(
    ("sessions", "calls", "waiting", "rates", "service"), dict
)
_OVERVIEW |= dict.fromkeys(("latest", "waits", "alerts"), list)
MOST_KEEPS = 20
"""Keeps that are looked at without being named: each is open all the while."""
_LONGEST_TOKEN = 10_000
"""Characters of a file with a token."""
_LONGEST_TEXT = 300
"""Characters of the text of something that waits."""
Look = dict[str, Any]
"""When it was looked, the keeps' overviews, how many keeps were left out, and what the service did."""


class TopSource(Protocol):
    """Something to look at."""

    def look(self) -> Look:
        """How it is now."""


class HomeSource(AbstractContextManager["HomeSource"]):
    """The keeps of a home. Others may use them meanwhile."""

    def __init__(self, home: str | None, names: Iterable[str], *, with_texts: bool) -> None:
        from truekeep.serve.shelf import shelf_of  # noqa: PLC0415 - loads the store
        from truekeep.signals.places import WebhookPlaces  # noqa: PLC0415
        from truekeep.stores.files import keep_names  # noqa: PLC0415

        self._paths = Paths.resolve(home)
        self._settings = Settings.load(self._paths.config)
        for name in names:
            require_keep(name, home)
        there = list(dict.fromkeys(names)) or keep_names(self._paths, self._settings)
        self._names, self._left_out = there[:MOST_KEEPS], max(0, len(there) - MOST_KEEPS)
        self._places = WebhookPlaces(shelf_of(self._paths, self._settings), _clock())
        self._with_texts = with_texts
        self._open = ExitStack()
        self._keeps: dict[str, Keep] = {}

    def look(self) -> Look:
        """How the keeps are now."""
        at = utc_text(_clock()())
        return {"at": at, "keeps": [self._one(name, at) for name in self._names], "left_out": self._left_out}

    def _one(self, name: str, at: str) -> dict[str, Any]:
        from truekeep.signals.overview import overview  # noqa: PLC0415 - loads the store

        try:
            if name not in self._keeps:
                self._keeps[name] = self._open.enter_context(_opened_to_look(self._paths, name, self._settings))
            keep = self._keeps[name]
            told = overview(keep, _clock()(), self._places.of(name)).as_dict()
            return _with_texts(told, lambda item: keep.review.show(item).memory.text) if self._with_texts else told
        except TruekeepError as error:
            return unreadable(name, at, error)

    def __exit__(self, *_: object) -> None:
        self._open.close()


class ServiceSource(AbstractContextManager["ServiceSource"]):
    """A service, asked for each keep over its own address. A token that covers one keep needs no name."""

    def __init__(self, url: str, token_file: str | None, names: Iterable[str], *, with_texts: bool) -> None:
        from truekeep.signals.post import checked_address  # noqa: PLC0415 - loads when it is asked for

        self._url, self._token = checked_address(url).rstrip("/"), _token(token_file)
        self._names: list[str | None] = [keep_name(name) for name in dict.fromkeys(names)] or [None]
        self._with_texts = with_texts
        self._counted: dict[str, tuple[float, dict[str, int]]] = {}

    def look(self) -> Look:
        """How the keeps are now, and how much the workers that answered did since they answered before."""
        at = utc_text(_clock()())
        found = [self._one(name, at) for name in self._names]
        rates = [rate for one in found if (rate := self._rates(one.pop("service", None))) is not None]
        service = {name: round(sum(rate[name] for rate in rates), 2) for name in rates[0]} if rates else {}
        return {"at": at, "keeps": found, "left_out": 0, "service": service}

    def _one(self, name: str | None, at: str) -> dict[str, Any]:
        try:
            told = self._asked(name, "overview", _OVERVIEW)
            return _with_texts(told, partial(self._text, name)) if self._with_texts else told
        except TruekeepError as error:
            return unreadable(name or "(service)", at, error)

    def _text(self, name: str | None, item: str) -> str:
        return str(self._asked(name, f"review/{quote(item, safe='')}", {"content": str})["content"])

    def _asked(self, name: str | None, path: str, members: Mapping[str, type]) -> dict[str, Any]:
        """An answer that has these members. Of a refusal its code is shown, and nothing else."""
        from truekeep.signals.post import fetch  # noqa: PLC0415 - loads when it is asked for

        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        headers |= {"Truekeep-Keep": name} if name is not None else {}
        answer = fetch(f"{self._url}/v1/{path}", headers, seconds=_SECONDS, most=_ANSWER_CAP)
        try:
            told = json.loads(answer.content)
        except (ValueError, RecursionError):
            told = None
        code = told.get("code") if isinstance(told, dict) and answer.status >= 400 else None
        if isinstance(code, str) and is_plain_name(code):
            raise NotAllowed("The service refuses.", code=code)
        if not isinstance(told, dict) or not all(isinstance(told.get(one), kind) for one, kind in members.items()):
            raise AnswerRefused("What came back is not an answer of the service.")
        return told

    def _rates(self, counted: dict[str, Any] | None) -> dict[str, float] | None:
        """A second, of one worker, since it answered before. Nothing at first, and for a keep that did not answer."""
        if counted is None:
            return None
        worker, now = str(counted.pop("worker")), _clock()().timestamp()
        before = self._counted.get(worker)
        if before is not None and now - before[0] < 0.1:
            return None  # asked for another keep just now
        self._counted[worker] = (now, counted)
        if before is None:
            return None
        return {name: max(0, count - before[1].get(name, 0)) / (now - before[0]) for name, count in counted.items()}

    def __exit__(self, *_: object) -> None:
        """Each question has a connection of its own."""


def unreadable(name: str, at: str, error: TruekeepError) -> dict[str, Any]:
    """The overview of a keep that cannot be looked at; why is an alert."""
    alert = {"code": "unreadable", "count": 1, "detail": error.code}
    return {"keep": name, "at": at, "ok": False, "alerts": [alert]}


def _with_texts(told: dict[str, Any], text_of: Callable[[str], str]) -> dict[str, Any]:
    """The overview with the texts of what waits for review, as far as whoever asks may see them."""
    from truekeep.screens.credentials import redact  # noqa: PLC0415 - only where texts are asked for

    for one in told.get("waits", ()):
        if one["what"] == "call":
            continue
        try:
            one["text"] = one_line(redact(text_of(one["id"])))[:_LONGEST_TEXT]
        except TruekeepError as error:
            one["text"] = f"({error.code})"
    return told


def _opened_to_look(paths: Paths, name: str, settings: Settings) -> Keep:
    """A keep as it is: nothing is upgraded, indexed or blanked, as ``Keep.open`` would."""
    from truekeep.keep import Keep, now  # noqa: PLC0415 - loads the store
    from truekeep.records.catalog import Catalog  # noqa: PLC0415
    from truekeep.screens.standard import LivePanel  # noqa: PLC0415
    from truekeep.stores.files import open_ledger  # noqa: PLC0415

    ledger = open_ledger(paths, name, now, settings)
    try:
        return Keep(name, ledger, Catalog(ledger, lambda: None), LivePanel(paths), settings, ledger.clock)
    except BaseException:
        ledger.close()
        raise


def _token(path: str | None) -> str:
    if path is None:
        token = os.environ.get("TRUEKEEP_TOKEN", "")
        if not token:
            raise ConfigError(
                "There is no token for the service.",
                code="token_missing",
                hint="Set TRUEKEEP_TOKEN, or name its file with --token-file.",
            )
        return token
    try:
        return disk.read_of_anyone(Path(path), _LONGEST_TOKEN).decode("ascii", "replace").strip()
    except OSError as error:
        raise ConfigError("The file of the token cannot be read.", hint=type(error).__name__) from error


def _clock() -> Any:
    from truekeep.keep import now  # noqa: PLC0415 - loads the store

    return now
