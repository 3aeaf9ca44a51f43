"""The audit log on its way to a SIEM: every kind has its place, and nothing in an event ends or forges a line."""

from __future__ import annotations

import json
import re
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.docs.test_reference import part
from truekeep import Keep
from truekeep.data import read_table
from truekeep.errors import ConfigError, ServiceUnreachable
from truekeep.signals.cef import as_cef
from truekeep.signals.kinds import kinds, report_of
from truekeep.signals.ocsf import as_ocsf
from truekeep.signals.syslog import SyslogPlace, syslog
from truekeep.types import AuditEvent

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = "x|y=z\\ \n<13>1 - - - CEF:0|fake|fake|1|memory.stored|ok|0|\r\u2028\u0085\u202e\x1b[2J a\\|b\\=c"
HEADER = re.compile(r"(?<!\\)(?:\\\\)*\|")


def event(kind: str, **body: object) -> AuditEvent:
    return AuditEvent(7, AT, kind, body, "ab" * 32)


def test_every_kind_of_event_has_a_place_and_none_that_there_is_not() -> None:
    told = part("codes").events()
    assert kinds().keys() == told.keys()
    for row in kinds().values():
        assert row["is"] in {"create", "read", "update", "delete", "finding"}
        assert 1 <= row["severity"] <= 5
        assert row.keys() <= {"is", "severity", "decided"}


def test_every_topic_of_a_webhook_is_a_kind_that_there_is() -> None:
    topics = read_table("signals", "topics.toml")
    assert {row["kind"] for row in topics.values() if "kind" in row} <= kinds().keys()
    assert all(row["says"] for row in topics.values())


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_an_event_of_every_kind_has_what_its_class_requires(kind: str) -> None:
    told = as_ocsf(event(kind, code="some_code", by="eva"), "alice")
    assert told["type_uid"] == told["class_uid"] * 100 + told["activity_id"]
    assert told["category_uid"] == told["class_uid"] // 1_000
    assert told["time"] == 1_772_366_400_000
    assert told["metadata"]["product"]["name"] == "truekeep"
    needed = {2004: {"finding_info"}, 6003: {"actor", "api", "src_endpoint"}}[told["class_uid"]]
    assert needed <= told.keys()
    assert told["message"] != kind


def test_a_refused_call_is_a_finding_and_an_allowed_one_is_not() -> None:
    assert report_of(event("action.judged", decision="deny")).is_finding
    assert not report_of(event("action.judged", decision="allow")).is_finding
    assert report_of(event("a.kind_of_a_newer_version")).said == "a.kind_of_a_newer_version"


@pytest.mark.parametrize("member", ["action", "by", "principal", "code", "decision", "reason", "channel", HOSTILE])
def test_hostile_content_cannot_forge_a_line_or_a_field(member: str) -> None:
    hostile = event("memory.rejected", **{member: HOSTILE})
    line = as_cef(hostile, "alice")
    assert line.isascii()
    assert line.isprintable()
    assert len(HEADER.findall(line.partition("rt=")[0])) == 7
    extension = line.split("|", 7)[7]
    names = re.findall(r"(?:^| )(\w+)(?<!\\)=", extension)
    assert names == sorted(set(names), key=names.index)
    assert set(names) <= {
        *("rt", "externalId", "cat", "suser", "act", "outcome", "reason"),
        *("cs1Label", "cs1", "cs2Label", "cs2", "msg"),
    }
    told = json.dumps(as_ocsf(hostile, "alice"))
    assert len(told.splitlines()) == 1
    assert "\\u001b" not in told
    assert "\\n" not in told


def test_a_body_that_is_too_long_for_a_line_is_left_out_whole() -> None:
    told = as_ocsf(event("memories.shown", memories=["mem_" + "0" * 20] * 2_000), "alice")
    assert told["unmapped"]["omitted"].endswith("characters")
    assert len(json.dumps(told)) < 2_000


def test_the_command_prints_a_line_for_each_event_in_order(run: Run, home: Path) -> None:
    run("remember", "I prefer dark mode.")
    run("remember", "The office is in Nitra.", "--via", "web", "--principal", "news.example")
    lines = run("audit", "export").out.splitlines()
    with Keep.open("default", home=home) as keep:
        assert [json.loads(line)["metadata"]["event_code"] for line in lines] == [
            one.kind for one in keep.audit.events()
        ]
    assert all(line.startswith("CEF:0|truekeep|") for line in run("audit", "export", "--as", "cef").out.splitlines())
    assert len(run("audit", "export", "--after", "1").out.splitlines()) == len(lines) - 1
    assert run("audit", "export", "--since", "2999-01-01").out == ""
    assert "Nitra" not in "".join(lines)


def test_lines_reach_a_syslog_receiver_whole_over_tcp_udp_and_a_unix_socket(
    run: Run, home: Path, tmp_path: Path
) -> None:
    run("remember", "I prefer dark mode.")
    count = len(run("audit", "export").out.splitlines())
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            line, _ = server.accept()
            with line, line.makefile("rb") as stream:
                got.append(stream.read())

        reader = threading.Thread(target=take)
        reader.start()
        sent = run("audit", "export", "--to", f"tcp://127.0.0.1:{server.getsockname()[1]}", "--format", "json")
        reader.join(30)
    assert sent.json == {"sent": count}
    assert framed(got[0]) == count
    for kind, address in ((socket.AF_INET, "udp"), (socket.AF_UNIX, "unix")):
        with socket.socket(kind, socket.SOCK_DGRAM) as server:
            server.settimeout(30)
            path = str(tmp_path / "log.sock")
            server.bind(("127.0.0.1", 0) if address == "udp" else path)
            where = f"udp://127.0.0.1:{server.getsockname()[1]}" if address == "udp" else f"unix://{path}"
            assert run("audit", "export", "--as", "cef", "--to", where).out == f"Sent: {count} events.\n"
            for _ in range(count):
                assert re.match(rb"<1\d\d>1 \S+Z \S+ truekeep \d+ \S+ - CEF:0\|", server.recv(65_536))


def framed(stream: bytes) -> int:
    """How many messages there are, each behind the count of its octets."""
    count = 0
    while stream:
        length, _, rest = stream.partition(b" ")
        message, stream = rest[: int(length)], rest[int(length) :]
        assert message.startswith(b"<1")
        assert json.loads(message.partition(b" - ")[2])["metadata"]["product"]["name"] == "truekeep"
        count += 1
    return count


@pytest.mark.parametrize(
    "address", ["tcp://siem.example:514", "udp://192.0.2.1:514", "siem.example", "unix://", "tcp://h"]
)
def test_lines_leave_this_machine_encrypted_or_not_at_all(address: str) -> None:
    with pytest.raises(ConfigError):
        SyslogPlace.parsed(address)
    assert SyslogPlace.parsed("tls://siem.example:6514").port == 6514
    assert SyslogPlace.parsed("tcp://siem.example:514", unsafe_no_tls=True).host == "siem.example"


def test_a_receiver_that_is_not_there_is_an_error_with_a_code(tmp_path: Path) -> None:
    with pytest.raises(ServiceUnreachable, match="syslog"), syslog(SyslogPlace.parsed(f"unix://{tmp_path}/nobody")):
        pass


def test_following_goes_on_with_what_happens_meanwhile(keep: Keep) -> None:
    from truekeep.cli.audit_export import _events

    waited: list[float] = []

    def meanwhile(seconds: float) -> None:
        waited.append(seconds)
        keep.remember(f"The office is in street {len(waited)}.", via="user")

    following = _events(keep, 0, follow=True, pause=meanwhile)
    kinds_seen = [next(following).kind for _ in range(4)]
    assert kinds_seen[-1] == "memory.stored"
    assert len(waited) > 1
