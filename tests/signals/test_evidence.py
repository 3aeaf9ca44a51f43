"""Evidence for an audit: checked without the keep, refused when a byte of it differs, stamped by a real authority."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.signals.receiver import Receiver, receiving
from truekeep import Keep
from truekeep.errors import InvalidRequest
from truekeep.signals.evidence import read_evidence
from truekeep.signals.timestamps import stamped, stamped_at

TSA = """
[tsa]
default_tsa = here
[here]
dir = {place}
serial = {place}/serial
signer_cert = {place}/tsa.pem
signer_key = {place}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""
EXTENSIONS = "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=critical,timeStamping\n"


@pytest.fixture
def made(run: Run, home: Path, tmp_path: Path) -> Path:
    run("remember", "I prefer dark mode.")
    run("remember", "The office is in Nitra.", "--via", "web", "--principal", "news.example")
    run("review", "reject", first_item(home), "--by", "eva", "--reason", "Eva knows better")
    path = tmp_path / "evidence.jsonl"
    assert run("audit", "evidence", "--out", str(path)).code == 0
    return path


def first_item(home: Path) -> str:
    with Keep.open("default", home=home) as keep:
        return keep.review.list()[0].id


def test_it_is_checked_without_the_keep_and_its_keys(made: Path, run: Run, home: Path) -> None:
    with Keep.open("default", home=home) as keep:
        events = keep.audit.events()
    assert events[-1].kind == "evidence.made"
    shutil.rmtree(home)
    told = run("audit", "evidence-verify", str(made), "--format", "json")
    assert told.code == 0
    assert told.json["events"] == len(events) - 1
    assert told.json["head"]["hash"] == events[-2].hash
    assert told.json["verified"] == {"ok": True, "rows": told.json["verified"]["rows"], "problems": 0}
    assert told.json["stamped"] == "none"


def test_no_text_and_no_name_is_in_it_unless_somebody_asked(made: Path, run: Run, tmp_path: Path) -> None:
    said = made.read_text()
    for word in ("Nitra", "dark mode", "news.example", "eva", "Eva"):
        assert word not in said
    whole = tmp_path / "whole.jsonl"
    run("audit", "evidence", "--out", str(whole), "--with-texts")
    assert "Eva knows better" in whole.read_text()
    assert "Nitra" not in whole.read_text()


def test_a_byte_that_differs_anywhere_is_noticed(made: Path, run: Run) -> None:
    content = bytearray(made.read_bytes())
    for place in range(0, len(content), max(1, len(content) // 60)):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(InvalidRequest):
            read_evidence(changed.decode("ascii", "replace").splitlines(keepends=True))
    lines = made.read_text().splitlines(keepends=True)
    for cut in (lines[:2] + lines[3:], lines[:-1], lines[1:], [*lines[:-1], lines[1], lines[-1]], lines[:1], []):
        with pytest.raises(InvalidRequest):
            read_evidence(cut)
    made.write_bytes(content[:-200])
    refused = run("audit", "evidence-verify", str(made))
    assert (refused.code, refused.out) == (2, "")


def test_it_says_whose_key_signed_it_and_is_held_against_the_log(made: Path, run: Run, tmp_path: Path) -> None:
    key = run("audit", "evidence-verify", str(made), "--format", "json").json["signed_by"]
    assert run("audit", "evidence-verify", str(made), "--signer", key).code == 0
    run("remember", "I prefer light mode.", "--keep", "other")
    other = tmp_path / "other.jsonl"
    run("audit", "evidence", "--out", str(other), "--keep", "other")
    assert "wrong_signer" in run("audit", "evidence-verify", str(other), "--signer", key, "--format", "json").err
    assert run("audit", "evidence-verify", str(made), "--keep", "default").code == 0
    assert run("audit", "evidence-verify", str(made), "--keep", "other").code == 2
    assert run("audit", "evidence-verify", str(made), "--keep", "nobody").code == 2


def test_what_the_keeps_key_signed_still_has_to_agree_with_itself(made: Path, home: Path) -> None:
    """Whoever has the key could sign a file that leaves events out; the numbers give it away."""
    from truekeep.config import Paths, Settings
    from truekeep.keep import now
    from truekeep.signals import evidence
    from truekeep.stores.files import open_ledger

    lines = made.read_text().splitlines(keepends=True)
    del lines[2]
    ledger = open_ledger(Paths.resolve(home), "default", now, Settings())
    try:
        digest = hashlib.sha256("".join(lines[:-1]).encode()).digest()
        _, signature = ledger.sign(evidence._message(digest))
    finally:
        ledger.close()
    lines[-1] = evidence._line({"type": "signature", "sha256": digest.hex(), "signature": signature})
    with pytest.raises(InvalidRequest, match="leaves events out"):
        read_evidence(lines)


@pytest.mark.parametrize("member", ["keep", "at", "rules", "settings", "made_by", "verified"])
def test_what_a_stranger_signed_with_a_key_of_their_own_writes_nothing_on_the_auditors_terminal(
    made: Path, run: Run, member: str
) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from truekeep.signals import evidence

    stranger = Ed25519PrivateKey.generate()
    public = base64.b64encode(stranger.public_key().public_bytes_raw()).decode()
    lines = made.read_text().splitlines(keepends=True)
    header = json.loads(lines[0]) | {"public_key": f"ed25519:{public}"}

    def signed() -> str:
        told = [evidence._line(header), *lines[1:-1]]
        digest = hashlib.sha256("".join(told).encode()).digest()
        signature = base64.b64encode(stranger.sign(evidence._message(digest))).decode()
        return "".join([*told, evidence._line({"type": "signature", "sha256": digest.hex(), "signature": signature})])

    made.write_text(signed())
    assert run("audit", "evidence-verify", str(made)).code == 0  # it says whose key it was, and no more
    header[member] = "default.\x1b[2K\n  signed by:   the named key"
    made.write_text(signed())
    refused = run("audit", "evidence-verify", str(made))
    assert refused.code == 2
    assert "the named key" not in refused.out + refused.err
    assert "\x1b" not in refused.out + refused.err


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Receiver, Path]]:
    """A time-stamping authority: OpenSSL behind a server on this machine, with a certificate of its own root."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to be the authority")
    place = tmp_path_factory.mktemp("tsa")
    (place / "tsa.cnf").write_text(TSA.format(place=place))
    (place / "extensions").write_text(EXTENSIONS)
    (place / "serial").write_text("01")
    root = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Root", "-days", "30"]
    openssl(*root, "-keyout", place / "root.key", "-out", place / "root.pem")
    wanted = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Authority"]
    openssl(*wanted, "-keyout", place / "tsa.key", "-out", place / "tsa.csr")
    signing: list[str | Path] = [
        "x509",
        "-req",
        "-CA",
        place / "root.pem",
        "-CAkey",
        place / "root.key",
        "-CAcreateserial",
    ]
    openssl(
        *signing, "-days", "30", "-extfile", place / "extensions", "-in", place / "tsa.csr", "-out", place / "tsa.pem"
    )
    with receiving() as one:
        yield one, place


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def answer_with(one: Receiver, place: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        (place / "query").write_bytes(one.requests[-1].body)
        openssl("ts", "-reply", "-config", place / "tsa.cnf", "-queryfile", place / "query", "-out", place / "reply")
        handler.send_response(200)
        handler.send_header("Content-Type", "application/timestamp-reply")
        handler.end_headers()
        handler.wfile.write((place / "reply").read_bytes())

    one.answers.append(answer)


def test_it_is_stamped_by_a_real_authority_and_the_stamp_is_checked(
    authority: tuple[Receiver, Path], made: Path, run: Run, home: Path, tmp_path: Path
) -> None:
    one, place = authority
    path = tmp_path / "stamped.jsonl"
    assert run("audit", "evidence", "--out", str(path), "--timestamp").code == 2  # no authority is set
    (home / "config.toml").write_text(f'timestamp_url = "{one.address}/tsa"\n')
    answer_with(one, place)
    assert "signed and stamped" in run("audit", "evidence", "--out", str(path), "--timestamp").out
    roots = str(place / "root.pem")
    told = run("audit", "evidence-verify", str(path), "--timestamp-roots", roots, "--format", "json")
    assert told.json["stamped"].startswith("20")
    assert run("audit", "evidence-verify", str(path), "--format", "json").json["stamped"] == "not checked"
    lines, unstamped = path.read_text().splitlines(keepends=True), made.read_text().splitlines(keepends=True)
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("".join([*unstamped, lines[-1]]))  # a genuine stamp of another file
    assert run("audit", "evidence-verify", str(mixed), "--timestamp-roots", roots).code == 2
    stranger: list[str | Path] = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=Other",
        "-keyout",
        tmp_path / "k",
    ]
    openssl(*stranger, "-out", tmp_path / "other.pem")
    assert run("audit", "evidence-verify", str(path), "--timestamp-roots", str(tmp_path / "other.pem")).code == 2
    assert run("audit", "evidence-verify", str(made), "--timestamp-roots", roots).code == 2


def test_an_authority_that_replays_refuses_or_sends_rubbish_is_not_believed(
    authority: tuple[Receiver, Path],
) -> None:
    one, place = authority
    answer_with(one, place)
    stamp = stamped(one.address, b"first")
    assert stamped_at(stamp, b"first", (place / "root.pem").read_bytes())
    with pytest.raises(InvalidRequest):
        stamped_at(stamp, b"second", (place / "root.pem").read_bytes())

    def sending(content: bytes, status: int = 200) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.end_headers()
            handler.wfile.write(content)

        one.answers.append(answer)

    for content, status in ((stamp, 200), (b"", 200), (b"\x30" * 50, 200), (stamp, 500)):
        sending(content, status)
        with pytest.raises(Exception, match=r"time stamp|authority") as refused:
            stamped(one.address, b"first")
        assert getattr(refused.value, "code", "") in {"timestamp_invalid", "timestamp_refused"}


def test_the_header_says_what_was_in_force_and_no_secret(made: Path, run: Run, home: Path, tmp_path: Path) -> None:
    first = json.loads(made.read_text().splitlines()[0])
    assert len(first["rules"]) == len(first["settings"]) == 64
    (home / "config.toml").write_text('policy = "inform"\n')
    path = tmp_path / "later.jsonl"
    run("audit", "evidence", "--out", str(path))
    later = json.loads(path.read_text().splitlines()[0])
    assert later["settings"] != first["settings"]
    assert later["rules"] == first["rules"]
    assert later["public_key"] == first["public_key"]
