"""Who calls: tokens and JWTs that must not be believed, and the headers they come in."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.serve.conftest import Served, running
from truekeep.errors import ConfigError
from truekeep.serve.settings import ServeSettings

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ISSUER, AUDIENCE = "https://id.example", "truekeep"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("guarded")
    keys = [
        {**json.loads(RSAAlgorithm.to_jwk(RSA_KEY.public_key())), "kid": "rsa-1", "use": "sig"},
        {**json.loads(ECAlgorithm.to_jwk(EC_KEY.public_key())), "kid": "ec-1"},
        {"kty": "oct", "k": base64.urlsafe_b64encode(b"shared" * 8).decode(), "kid": "oct-1"},
    ]
    path = home / "jwks.json"
    path.write_text(json.dumps({"keys": keys}))
    issuer: dict[str, Any] = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_keys": str(path)}
    with running(home, **issuer) as service:
        yield service


def status(served: Served, header: str | bytes | None, path: str = "/v1/long-term-memory/") -> int:
    headers: Any = {"Authorization": header} if header is not None else {}
    return httpx.get(served.address + path, headers=headers, timeout=60, trust_env=False).status_code


def claims(**changes: Any) -> dict[str, Any]:
    made = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "eva",
        "exp": int(time.time()) + 300,
        "truekeep_keep": "alice",
        "truekeep_channel": "user",
        "truekeep_may": "read write",
    }
    return {name: value for name, value in {**made, **changes}.items() if value is not None}


def signed(given: dict[str, Any], key: Any = RSA_KEY, algorithm: str = "RS256", **header: Any) -> str:
    return jwt.encode(given, key, algorithm, headers={"kid": "rsa-1", **header})


def test_a_token_of_the_issuer_is_believed(guarded: Served) -> None:
    guarded.make("alice")
    assert status(guarded, f"Bearer {signed(claims())}") == 200
    assert status(guarded, f"Bearer {signed(claims(truekeep_may=['read']))}") == 200
    assert status(guarded, f"Bearer {signed(claims(), EC_KEY, 'ES256', kid='ec-1')}") == 200


def unsigned() -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none', 'kid': 'rsa-1'})}.{part(claims())}."


def confused() -> str:
    """The issuer's public key, taken for a shared secret."""
    pem = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa-1"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps(claims()).encode()).decode().rstrip("=")
    import hashlib
    import hmac

    mark = hmac.new(pem, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def nested() -> str:
    """A header that takes whoever parses it a level deeper with every sign."""
    head = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":' + b"[" * 5_000).decode().rstrip("=")
    return f"{head}.e30.e30"


FORGED: dict[str, Callable[[], str]] = {
    "expired": lambda: signed(claims(exp=int(time.time()) - 300)),
    "without an end": lambda: signed(claims(exp=None)),
    "not yet valid": lambda: signed(claims(nbf=int(time.time()) + 600)),
    "another audience": lambda: signed(claims(aud="other")),
    "no audience": lambda: signed(claims(aud=None)),
    "another issuer": lambda: signed(claims(iss="https://evil.example")),
    "no issuer": lambda: signed(claims(iss=None)),
    "no subject": lambda: signed(claims(sub=None)),
    "another key": lambda: signed(claims(), rsa.generate_private_key(public_exponent=65537, key_size=2048)),
    "an unknown key": lambda: signed(claims(), kid="nobody"),
    "no key named among several": lambda: jwt.encode(claims(), RSA_KEY, "RS256"),
    "a key of another kind": lambda: signed(claims(), EC_KEY, "ES256", kid="rsa-1"),
    "a critical header": lambda: signed(claims(), crit=["x"], x=1),
    "an algorithm not listed": lambda: signed(claims(), algorithm="PS256"),
    "alg none": unsigned,
    "the public key as a secret": confused,
    "a shared key": lambda: signed(claims(), b"shared" * 8, "HS256", kid="oct-1"),
    "no keep": lambda: signed(claims(truekeep_keep=None)),
    "a keep that is no name": lambda: signed(claims(truekeep_keep="../alice")),
    "capabilities that conflict": lambda: signed(claims(truekeep_may="write review")),
    "capabilities as an object": lambda: signed(claims(truekeep_may={"read": False, "write": False})),
    "capabilities that are no words": lambda: signed(claims(truekeep_may=["read", 1])),
    "nobody": lambda: signed(claims(sub="")),
    "nobody to be seen": lambda: signed(claims(sub=" \t")),
    "unknown capabilities": lambda: signed(claims(truekeep_may="root")),
    "an agent with power": lambda: signed(claims(truekeep_channel="agent", truekeep_may="read admin")),
    "a header that is nested": nested,
    "too long": lambda: signed(claims(padding="x" * 9_000)),
    "three dots": lambda: "a.b.c",
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(FORGED))
def test_a_jwt_that_must_not_be_believed_is_refused(guarded: Served, fault: str) -> None:
    assert status(guarded, f"Bearer {FORGED[fault]()}") == 401


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer x y",
        "Basic",
        "Basic !!!",
        "Basic " + "QQ" * 20_000,
        "Digest x",
        "Bearer tk__",
        "tk_x",
        "Bearer \xff",
    ],
)
def test_a_header_that_is_no_token_is_refused(guarded: Served, header: str) -> None:
    assert status(guarded, header.encode("latin-1")) in (400, 401, 431)


def test_revoked_and_expired_tokens_are_refused_while_it_runs(guarded: Served) -> None:
    guarded.make("alice")
    secret, token = guarded.tokens.add("alice", "user", ["read"])
    assert status(guarded, f"Bearer {secret}") == 200
    guarded.tokens.revoke(token.id)
    assert status(guarded, f"Bearer {secret}") == 401
    brief, _ = guarded.tokens.add("alice", "user", ["read"], days=1e-9)
    assert status(guarded, f"Bearer {brief}") == 401


def test_a_token_in_the_query_a_cookie_or_the_body_is_none(guarded: Served) -> None:
    secret = guarded.token("owner")
    assert status(guarded, None, f"/v1/long-term-memory/?access_token={secret}&token={secret}") == 401
    answer = httpx.get(f"{guarded.address}/v1/channels", cookies={"token": secret}, timeout=60, trust_env=False)
    assert answer.status_code == 401


@pytest.mark.parametrize("name", ["X-Forwarded-User", "X-Remote-User", "X-Truekeep-Channel", "X-User-Id"])
def test_no_other_header_says_who_calls(guarded: Served, name: str) -> None:
    answer = httpx.get(f"{guarded.address}/v1/long-term-memory/", headers={name: "alice"}, timeout=60, trust_env=False)
    assert answer.status_code == 401


def raw(served: Served, request: bytes) -> bytes:
    host, _, port = served.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(65_536):
            found += part
    return found


def test_two_authorizations_do_not_add_up(guarded: Served) -> None:
    token = guarded.token("owner", "bob").encode()
    answer = raw(
        guarded,
        b"GET /v1/long-term-memory/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nAuthorization: Bearer "
        + token
        + b"\r\nConnection: close\r\n\r\n",
    )
    assert b" 401 " in answer.split(b"\r\n")[0]


def test_a_request_id_cannot_carry_a_header_or_a_line(guarded: Served) -> None:
    answer = httpx.get(
        f"{guarded.address}/v1/health", headers={"X-Request-Id": "a b\tc;d"}, timeout=60, trust_env=False
    )
    assert answer.headers["x-request-id"] != "a b\tc;d"
    kept = httpx.get(f"{guarded.address}/v1/health", headers={"X-Request-Id": "trace-1"}, timeout=60, trust_env=False)
    assert kept.headers["x-request-id"] == "trace-1"


def test_a_subject_of_any_form_signs_decisions(guarded: Served) -> None:
    web = guarded.client("web", "signing")
    web.post("/v1/long-term-memory/", json={"memories": [{"text": "The shop closes at six"}]})
    token = signed(
        claims(sub="auth0|eva<1>", truekeep_keep="signing", truekeep_channel="reviewer:eva", truekeep_may="review")
    )
    with httpx.Client(
        base_url=guarded.address, headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False
    ) as eva:
        item = eva.get("/v1/review").json()["items"][0]
        tag = {"If-Match": f'"{item["etag"]}"'}
        done = eva.post(f"/v1/review/{item['id']}/approve", json={"reason": "ok"}, headers=tag)
    assert done.status_code == 200
    events = guarded.client("admin", "signing").get("/v1/audit").json()["events"]
    assert [one["body"]["by"] for one in events if one["kind"] == "review.approved"] == ["auth0-eva-1-"]


# Starting


def test_off_this_machine_it_does_not_start_in_the_open(tmp_path: Path) -> None:
    for open_wide in (ServeSettings(host="0.0.0.0"), ServeSettings(host="192.0.2.1", unsafe_no_auth="alice")):  # noqa: S104
        with pytest.raises(ConfigError):
            open_wide.require_safe()
    ServeSettings(host="0.0.0.0", unsafe_no_tls=True).require_safe()  # noqa: S104
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    sealed = ServeSettings(host="0.0.0.0", tls_certificate=str(certificate), tls_key=str(key))  # noqa: S104
    with pytest.raises(ConfigError):
        sealed.require_safe()  # there are no such files
    certificate.touch()
    key.touch()
    sealed.require_safe()
    ServeSettings().require_safe()
    with pytest.raises(ConfigError):
        ServeSettings(tls_certificate="c.pem").require_safe()


def test_without_authentication_a_page_in_a_browser_gets_nowhere(home: Path) -> None:
    with running(home, unsafe_no_auth="alice") as service:
        address = f"{service.address}/v1/long-term-memory/"
        assert httpx.get(address, timeout=60, trust_env=False).status_code == 200
        assert (
            httpx.get(address, headers={"Origin": "https://evil.example"}, timeout=60, trust_env=False).status_code
            == 401
        )
        assert httpx.get(address, headers={"Host": "evil.example"}, timeout=60, trust_env=False).status_code == 401
        assert httpx.get(f"{service.address}/v1/review", timeout=60, trust_env=False).status_code == 403
        for site in ("cross-site", "same-site"):  # a picture's address, and a page on another port
            assert httpx.get(address, headers={"Sec-Fetch-Site": site}, timeout=60, trust_env=False).status_code == 401
            refused = httpx.post(
                address, headers={"Sec-Fetch-Site": site}, json={"memories": []}, timeout=60, trust_env=False
            )
            assert (refused.status_code, refused.json()["code"]) == (403, "cross_origin")
        assert httpx.get(address, headers={"Sec-Fetch-Site": "none"}, timeout=60, trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"jwt_issuer": ISSUER},
        {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE},
        {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_keys": "http://id.example/keys"},
        {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_keys": "x", "jwt_algorithms": "HS256"},
        {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_keys": "x", "jwt_algorithms": "none"},
    ],
)
def test_an_issuer_that_is_set_up_wrongly_is_refused_at_the_start(wrong: dict[str, str]) -> None:
    from truekeep.serve.jwt import Issuer

    with pytest.raises(ConfigError):
        Issuer(ServeSettings(**wrong))  # type: ignore[arg-type]


# The issuer's keys, from an address


class _Keys(BaseHTTPRequestHandler):
    """An issuer's JWKS endpoint that counts how often it is asked."""

    asked = 0
    keys: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        type(self).asked += 1
        content = json.dumps({"keys": self.keys}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Quietly."""


def test_keys_are_fetched_renewed_and_not_fetched_for_every_forged_token() -> None:
    from truekeep.errors import NotAuthenticated
    from truekeep.serve.jwt import Issuer

    moment = [0.0]
    with ThreadingHTTPServer(("127.0.0.1", 0), _Keys) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/keys"
        chosen = ServeSettings(jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_keys=address)
        issuer = Issuer(chosen, lambda: moment[0])
        _Keys.keys = [{**json.loads(RSAAlgorithm.to_jwk(RSA_KEY.public_key())), "kid": "rsa-1"}]
        assert asyncio.run(issuer.identify(signed(claims()))).channel == "user"
        asked = _Keys.asked
        for number in range(20):
            with pytest.raises(NotAuthenticated):
                asyncio.run(issuer.identify(signed(claims(), kid=f"nobody-{number}")))
        assert _Keys.asked == asked
        # The issuer has a new key, and has taken the old one back.
        _Keys.keys = [{**json.loads(ECAlgorithm.to_jwk(EC_KEY.public_key())), "kid": "ec-2"}]
        moment[0] += 40
        assert asyncio.run(issuer.identify(signed(claims(), EC_KEY, "ES256", kid="ec-2"))).subject == "eva"
        with pytest.raises(NotAuthenticated):
            asyncio.run(issuer.identify(signed(claims())))
        server.shutdown()


@pytest.mark.slow
def test_an_issuer_that_fails_is_asked_less_and_less_while_its_known_keys_do() -> None:
    from truekeep.errors import NotAuthenticated, ServiceBusy
    from truekeep.serve.jwt import Issuer

    moment, asked = [0.0], []
    _Keys.keys = [{**json.loads(RSAAlgorithm.to_jwk(RSA_KEY.public_key())), "kid": "rsa-1"}]
    with ThreadingHTTPServer(("127.0.0.1", 0), _Keys) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/keys"
        issuer = Issuer(ServeSettings(jwt_issuer=ISSUER, jwt_audience=AUDIENCE, jwt_keys=address), lambda: moment[0])
        assert asyncio.run(issuer.identify(signed(claims()))).subject == "eva"
        _Keys.keys = [{"kty": "RSA"}]  # from here on it sends what cannot be read
        for second in range(300, 3_000, 10):
            moment[0], before = float(second), _Keys.asked
            with pytest.raises((ServiceBusy, NotAuthenticated)):
                asyncio.run(issuer.identify(signed(claims(), kid="rotated")))
            assert asyncio.run(issuer.identify(signed(claims()))).subject == "eva"
            asked += [second] * (_Keys.asked - before)
        moment[0] += 100_000
        with pytest.raises(ServiceBusy):
            asyncio.run(issuer.identify(signed(claims())))
        server.shutdown()
    assert asked == [300, 330, 390, 510, 750, 1230, 1830, 2430]
