"""The service tells webhooks by itself, in a thread of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.serve.conftest import KEYWORDS, running
from tests.signals.receiver import Receiver

pytestmark = pytest.mark.slow


def test_the_service_tells_a_webhook_what_a_request_left_waiting(home: Path, receiver: Receiver) -> None:
    table = {"url": f"{receiver.address}/in", "secret": "env:HOOK_SECRET"}
    settings = replace(KEYWORDS, webhooks={"ops": table})
    with running(home, settings, webhook_seconds=0.05) as served:
        answer = served.client("web").post("/v1/memories", json={"memories": [{"text": "The office is in Nitra."}]})
        assert answer.status_code == 202
        assert receiver.arrived.wait(30)
        counted = served.client("admin").get("/metrics").text
    assert b"truekeep.held" in receiver.requests[0].body
    assert 'truekeep_webhook_messages_total{taken="true",webhook="ops"' in counted


def test_a_service_with_a_webhook_that_is_not_safe_does_not_start(home: Path, run: Run) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[webhooks.ops]\nurl = "http://hooks.example"\nsecret = "env:HOOK_SECRET"\n')
    refused = run("serve", "--home", str(home))
    assert refused.code == 2
    assert "Serving on" not in refused.err
