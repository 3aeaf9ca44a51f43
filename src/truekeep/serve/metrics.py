"""Metrics in Prometheus' text format. No label names a keep, a token or a person."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]
Counted = Callable[[str, dict[str, str]], None]
Took = Callable[[float, dict[str, str]], None]
Gauged = Callable[[str, str, Callable[[], float]], None]


class Metrics:
    """Counts of one worker process. Each worker answers for itself; the label ``worker`` tells them apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[Labels]] = {}
        self._seconds: dict[Labels, list[float]] = {}
        self._gauges: dict[str, Callable[[], float]] = {}
        self._help: dict[str, str] = {}
        self._listeners: list[tuple[Counted, Took]] = []
        self._watchers: list[Gauged] = []
        self._worker = (("worker", str(os.getpid())),)

    def pass_on(self, counted: Counted, took: Took, gauged: Gauged) -> None:
        """Tell somebody else of every count and every time as well, and of every value that can be read."""
        self._listeners.append((counted, took))
        self._watchers.append(gauged)
        for name, read in self._gauges.items():
            gauged(name, self.told_of(name), read)

    def told_of(self, name: str) -> str:
        """What a metric counts, as it was described."""
        return self._help.get(name, name)

    def describe(self, name: str, text: str) -> None:
        """What a metric counts."""
        self._help[name] = text
        self._counts.setdefault(name, Counter())

    def count(self, name: str, **labels: str) -> None:
        """One more."""
        with self._lock:
            self._counts.setdefault(name, Counter())[tuple(sorted(labels.items()))] += 1
        for counted, _ in self._listeners:
            counted(name, labels)

    def total(self, name: str, label: str = "", values: Collection[str] = ()) -> int:
        """How much was counted in this process, of all or where a label has one of some values."""
        with self._lock:
            counted = self._counts.get(name, Counter())
            return sum(count for key, count in counted.items() if not label or dict(key).get(label) in values)

    def gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A value that is read when somebody asks."""
        self._help[name] = text
        self._gauges[name] = read
        for gauged in self._watchers:
            gauged(name, text, read)

    def took(self, seconds: float, **labels: str) -> None:
        """How long a request took."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            cells = self._seconds.setdefault(key, [0.0] * (len(_BOUNDS) + 2))
            cells[bisect_left(_BOUNDS, seconds)] += 1
            cells[-1] += seconds
        for _, passed in self._listeners:
            passed(seconds, labels)

    def text(self) -> str:
        """Everything, as Prometheus reads it."""
        with self._lock:
            lines = [line for name in sorted(self._counts) for line in self._counter(name)]
            lines += self._histogram("truekeep_request_seconds")
        for name, read in sorted(self._gauges.items()):
            lines += [f"# HELP {name} {self._help[name]}", f"# TYPE {name} gauge"]
            lines.append(f"{name}{self._labels(())} {read():g}")
        return "\n".join(lines) + "\n"

    def _counter(self, name: str) -> list[str]:
        head = [f"# HELP {name} {self.told_of(name)}", f"# TYPE {name} counter"]
        return head + [f"{name}{self._labels(key)} {count}" for key, count in sorted(self._counts[name].items())]

    def _histogram(self, name: str) -> list[str]:
        lines = [f"# HELP {name} Seconds a request took, by route.", f"# TYPE {name} histogram"]
        for key, cells in sorted(self._seconds.items()):
            total = 0.0
            for bound, cell in zip((*map(str, _BOUNDS), "+Inf"), cells[:-1], strict=True):
                total += cell
                lines.append(f"{name}_bucket{self._labels((*key, ('le', bound)))} {total:g}")
            lines += [f"{name}_sum{self._labels(key)} {cells[-1]:.6f}", f"{name}_count{self._labels(key)} {total:g}"]
        return lines

    def _labels(self, key: Labels) -> str:
        parts = [f'{name}="{_escaped(value)}"' for name, value in (*key, *self._worker)]
        return "{" + ",".join(parts) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
