"""Tracing: spans of requests and their steps, and the figures of /metrics, for OpenTelemetry; needs the extra ``otel``.

A request that comes with a W3C ``traceparent`` continues that trace. Its span has the method, the route's template and
the status; the steps within it have a name and nothing else. What was said, names of keeps, sessions, tokens and paths,
and the words of errors are in no attribute. Baggage is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from truekeep import __version__
from truekeep.serve.logs import TRACE
from truekeep.text.view import WATCH

if TYPE_CHECKING:
    from truekeep.serve.metrics import Metrics

NAME = "truekeep"
CONTEXT = "truekeep.trace"
"""Where a request's scope has the context of its span, for work that goes on in a task of another request."""
_CARRIED = (b"traceparent", b"tracestate")


class Tracing:
    """Makes spans with the providers that it is given, and passes the service's figures on."""

    def __init__(self, tracers: TracerProvider, meters: MeterProvider, metrics: Metrics) -> None:
        self._providers = (tracers, meters)
        self._tracer = tracers.get_tracer(NAME, __version__)
        self._context = TraceContextTextMapPropagator()
        meter = meters.get_meter(NAME, __version__)
        counters: dict[str, Any] = {}
        seconds = meter.create_histogram("truekeep_request_seconds", "s", "Seconds a request took, by route.")

        def counted(name: str, labels: dict[str, str]) -> None:
            if name not in counters:
                counters[name] = meter.create_counter(name, description=metrics.told_of(name))
            counters[name].add(1, labels)

        def gauged(name: str, text: str, read: Callable[[], float]) -> None:
            meter.create_observable_gauge(name, [lambda _: (Observation(read()),)], description=text)

        metrics.pass_on(counted, seconds.record, gauged)

    @classmethod
    def over_otlp(cls, metrics: Metrics) -> Tracing:
        """With exporters over OTLP and HTTP, as the standard variables OTEL_* say."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        resource = Resource.create({"service.name": NAME, "service.version": __version__})
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        return cls(tracers, MeterProvider([reader], resource=resource), metrics)

    @contextmanager
    def request(self, scope: MutableMapping[str, Any]) -> Iterator[trace.Span]:
        """The span of a request, which whatever is done for it is part of."""
        carried = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _CARRIED}
        parent = self._context.extract(carried, contexts.Context())
        with self._tracer.start_as_current_span(
            "request", parent, trace.SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            scope[CONTEXT] = contexts.get_current()
            watching, telling = WATCH.set(self._step), TRACE.set(_ids)
            try:
                yield span
            finally:
                WATCH.reset(watching)
                TRACE.reset(telling)

    def answered(self, span: trace.Span, method: str, route: str, status: int, failure: str) -> None:
        """Say what the request was and what became of it."""
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
        if failure:
            span.set_attribute("error.type", failure)
        if status >= 500 or failure:
            span.set_status(trace.StatusCode.ERROR)

    def go_on(self, scope: MutableMapping[str, Any]) -> None:
        """Have what this task does from here on be part of a request's span, whichever request began the task."""
        if CONTEXT in scope:
            contexts.attach(scope[CONTEXT])
            WATCH.set(self._step)

    def close(self) -> None:
        """Send what is left."""
        for provider in self._providers:
            provider.shutdown()

    def _step(self, name: str) -> AbstractContextManager[object]:
        return self._tracer.start_as_current_span(
            f"truekeep.{name}", record_exception=False, set_status_on_exception=False
        )


def _ids() -> dict[str, str]:
    """What a line of the log says of the trace it is part of."""
    found = trace.get_current_span().get_span_context()
    return {"trace": f"{found.trace_id:032x}", "span": f"{found.span_id:016x}"} if found.is_valid else {}
