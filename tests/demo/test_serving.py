"""``truekeep demo --serve`` as a newcomer runs it: a real process, a real link, a real page."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from truekeep.config import Paths
from truekeep.ops import redteam_scores as scores
from truekeep.ops.redteam_scores import Figure, Score
from truekeep.types import utc_moment

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.timeout(300)
def test_the_demo_serves_the_story_behind_a_link_and_leaves_a_real_home_alone(tmp_path: Path) -> None:
    real, port = tmp_path / "real", free_port()
    environment = {**os.environ, "TRUEKEEP_HOME": str(real), "TRUEKEEP_KEYS": str(tmp_path / "real-keys")}
    command = [sys.executable, "-m", "truekeep", "demo", "--serve", "--port", str(port), "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout
        told = ""
        while not told.rstrip().endswith("}"):
            line = demo.stdout.readline()
            assert line, demo.stderr.read() if demo.stderr else ""
            told += line
        answer = json.loads(told)
        transport = httpx.HTTPTransport(retries=20)
        with httpx.Client(transport=transport, trust_env=False, timeout=30, follow_redirects=True) as person:
            link = httpx.URL(answer["console"])
            for _ in range(200):
                try:
                    person.get(link)
                    break
                except httpx.ConnectError:
                    continue
            person.post(
                link.copy_with(query=None),
                data={"once": link.params["once"]},
                headers={"Sec-Fetch-Site": "same-origin"},
            )
            page = person.get(f"{answer['address']}/console/k/studio/incident")
        assert "run-paper-2" in page.text
        assert Path(answer["home"]).is_dir()
        demo.send_signal(signal.SIGINT)
        demo.wait(60)
    assert not Path(answer["home"]).exists()
    assert not real.exists()
    assert not (tmp_path / "real-keys").exists()


def test_plain_help_names_the_switch() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "truekeep", "demo", "--help"], capture_output=True, text=True, check=True
    )
    assert re.search(r"--serve\s", done.stdout)


def test_the_red_teams_last_run_of_each_kind_is_kept(tmp_path: Path) -> None:
    paths = Paths.resolve(tmp_path)
    assert scores.last(paths) == {}
    at = utc_moment("2026-11-01T10:00:00.000000Z")
    for held in (True, False):
        scores.note(paths, Score("influence", at, held, {"policy": "inform"}, (Figure("won", int(not held), 53),)))
    scores.note(paths, Score("screen", at, True, {}, ()))
    found = scores.last(paths)
    assert set(found) == {"influence", "screen"}
    assert found["influence"].figures == (Figure("won", 1, 53),)
    assert not found["influence"].held
    for nonsense in ("", "[]", '{"runs": 3}', '{"runs": {"screen": {"at": "x"}}}', "x" * 200_000):
        (paths.data / "redteam.json").write_text(nonsense)
        assert scores.last(paths) == {}
