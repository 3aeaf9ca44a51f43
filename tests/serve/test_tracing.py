"""Traces and figures over OpenTelemetry, as a collector gets them; nothing that anybody said is in them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.serve.conftest import running
from truekeep.errors import MissingExtra
from truekeep.serve.app import create_app
from truekeep.serve.settings import ServeSettings

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@dataclass
class Collector:
    """An OTLP receiver on this machine."""

    address: str = ""
    bodies: list[bytes] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            told = ExportTraceServiceRequest.FromString(body)
            self.spans += [span for one in told.resource_spans for scope in one.scope_spans for span in scope.spans]
        else:
            told = ExportMetricsServiceRequest.FromString(body)
            found = [metric for one in told.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
            self.metrics |= {metric.name: metric for metric in found}

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


Collected = tuple[Collector, str, list[str]]
"""The collector, the trace that a caller began, and words that nobody is to find there."""


@contextmanager
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.take(self.path, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    kept.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Collected]:
    """What a collector got of one write, one recall, one question to the act boundary and one refusal."""
    with pytest.MonkeyPatch.context() as patch, collector() as kept:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", kept.address)
        patch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        with running(tmp_path_factory.mktemp("traced"), telemetry=True) as served:
            client = served.client("owner", keep="zebedee")
            token = client.headers["Authorization"].split("_", 2)
            carried = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1", "baggage": "who=quasimodo"}
            body = {"memories": [{"text": "The marzipan is in the belfry", "session": "sess-rosebud"}]}
            assert client.post("/v1/memories", json=body, headers=carried).status_code == 201
            asked = {"query": "Where is the marzipan?"}
            assert client.post("/v1/memories/recall", json=asked).status_code == 200
            call = {"session": "sess-rosebud", "name": "fetch_marzipan", "arguments": {"to": "belfry"}}
            assert client.post("/v1/check-action", json=call).status_code == 200
            assert client.get("/v1/memories/mem_rosebud").status_code == 404
            assert served.client(None).get("/v1/memories").status_code == 401
        yield kept, TRACE, [*token[1:], "zebedee", "marzipan", "belfry", "rosebud", "quasimodo"]


def test_a_callers_trace_goes_on_through_gate_and_commit(collected: Collected) -> None:
    kept, trace, _ = collected
    (request,) = kept.named("POST /v1/memories")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (trace, PARENT)
    assert request.trace_state == "vendor=1"
    (gate,) = (span for span in kept.named("truekeep.gate") if span.trace_id == request.trace_id)
    assert gate.parent_span_id == request.span_id
    commits = [span for span in kept.named("truekeep.store.commit") if span.parent_span_id == gate.span_id]
    assert len(commits) == 1


def test_every_kind_of_step_is_a_span_of_its_request(collected: Collected) -> None:
    kept, _, _ = collected
    for route, step in (("POST /v1/memories/recall", "recall"), ("POST /v1/check-action", "act")):
        (request,) = kept.named(route)
        steps = [span.name for span in kept.spans if span.parent_span_id == request.span_id]
        assert steps.count(f"truekeep.{step}") == 1


def test_a_span_says_what_became_of_the_request(collected: Collected) -> None:
    kept, _, _ = collected
    told = {
        span.name: {one.key: one.value.string_value or one.value.int_value for one in span.attributes}
        for span in kept.spans
        if not span.name.startswith("truekeep.")
    }
    missing = told["GET /v1/memories/{memory_id}"]
    assert missing == {
        "http.request.method": "GET",
        "http.route": "/v1/memories/{memory_id}",
        "http.response.status_code": 404,
    }


def test_nothing_private_reaches_the_collector(collected: Collected) -> None:
    kept, _, private = collected
    everything = b"".join(kept.bodies)
    assert [word for word in private if word.encode() in everything] == []
    assert b"POST /v1/memories" in everything, "the bodies can be read"


def test_the_figures_of_the_metrics_page_are_passed_on(collected: Collected) -> None:
    kept, _, _ = collected
    points = kept.metrics["truekeep_requests_total"].sum.data_points
    labels = [{one.key: one.value.string_value for one in point.attributes} for point in points]
    assert {"method": "POST", "route": "/v1/memories", "status": "201"} in labels
    assert kept.metrics["truekeep_request_seconds"].histogram.data_points
    decided = kept.metrics["truekeep_actions_total"].sum.data_points
    assert sum(point.as_int for point in decided) == 1
    for name in ("truekeep_body_bytes", "truekeep_open_keeps", "truekeep_ready"):
        (point,) = kept.metrics[name].gauge.data_points
        assert not point.attributes


def test_without_the_setting_nothing_of_it_is_loaded_and_the_library_never_loads_it(home: Path) -> None:
    code = """
import sys
from truekeep import Keep
with Keep.open("alice") as keep:
    assert keep.remember("The key is under the mat", via="user").accepted and keep.recall("key")
    with keep.session("s") as session:
        session.check_action("pay", {"to": "Contoso"})
loaded = [one for one in sys.modules if one.startswith(("opentelemetry", "truekeep.serve", "fastapi"))]
assert not loaded, loaded
from truekeep.serve.app import create_app
create_app()
assert "truekeep.serve.tracing" not in sys.modules and "opentelemetry.sdk" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_the_extra_the_setting_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "truekeep.serve.tracing", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    with pytest.raises(MissingExtra, match="otel"):
        create_app(home, serve=ServeSettings(telemetry=True))
