"""A model's endpoint may be slow, broken, greedy or hostile; extraction fails cleanly and loses nothing."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from tests.extract.model_server import (
    Behaviour,
    dribbles_body,
    dribbles_headers,
    floods,
    hangs_up,
    never_answers,
    raw,
    remembers,
    says,
    serving,
)
from truekeep.errors import ConfigError
from truekeep.extract.endpoint import ModelSettings
from truekeep.extract.failure import ModelError
from truekeep.extract.llm import ChatModel, Reply
from truekeep.extract.output import read_reply, schema
from truekeep.extract.usage import Meter, Prices

ASKED = [{"role": "system", "content": "extract"}, {"role": "user", "content": "zanzibar"}]
FINE = remembers({"text": "Ana lives in Porto"})


def settings(url: str, **changes: Any) -> ModelSettings:
    chosen: dict[str, Any] = {"timeout": 5.0, "attempts": 1, "backoff": 0.0} | changes
    return ModelSettings(base_url=url, model="test-model", key="sk-very-secret", **chosen)


def ask(*script: Behaviour, meter: Meter | None = None, **changes: Any) -> Reply:
    with serving(*script) as server:
        model = ChatModel(settings(server.url, **changes), meter)
        return model.complete(ASKED, schema(), read_reply)


def failure(*script: Behaviour, **changes: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(*script, **changes)
    return caught.value


def test_a_reply_of_the_right_form_is_returned() -> None:
    assert read_reply(ask(FINE).text)[0]["text"] == "Ana lives in Porto"


def test_the_request_carries_the_schema_the_model_and_the_key_and_accepts_no_compression() -> None:
    with serving(FINE) as server:
        ChatModel(settings(server.url)).complete(ASKED, schema(), read_reply)
    (request,) = server.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["Authorization"] == "Bearer sk-very-secret"
    assert request["headers"]["Accept-Encoding"] == "identity"
    assert request["body"]["model"] == "test-model"
    assert request["body"]["response_format"]["json_schema"]["strict"] is True
    assert request["body"]["max_tokens"] > 0


BROKEN = {
    "no JSON": says("Sure! Here are the memories."),
    "cut JSON": says('{"memories": [{"text": "a'),
    "another form": says({"items": []}),
    "extra members": says({"memories": [], "owner": "mallory"}),
    "a list": says([]),
    "not a list": says({"memories": {"text": "a"}}),
    "a number": says("17"),
    "NaN": says('{"memories": [NaN]}'),
    "doubled members": says('{"memories": [], "memories": [{"text": "a"}]}'),
    "deep nesting": says('{"memories": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "no envelope": raw(200, b'{"hello": 1}'),
    "an envelope of the wrong kind": raw(200, b'{"choices": "none"}'),
    "an empty envelope": raw(200, b'{"choices": []}'),
    "a page": raw(200, b"<html>please log in</html>"),
    "bytes": raw(200, b"\xff\xfe\x00"),
    "a deep envelope": raw(200, b"[" * 200_000),
}
CODES = {"model_broken_json", "model_wrong_form"}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_reply_is_an_error_that_may_be_tried_again(kind: str) -> None:
    error = failure(BROKEN[kind])
    assert error.code in CODES
    assert error.may_retry


@pytest.mark.parametrize("content", ["", "  \n", None])
def test_nothing_is_an_error_not_an_empty_list(content: str | None) -> None:
    assert failure(says(content)).code == "model_empty"


def test_a_fenced_reply_is_read() -> None:
    assert read_reply(ask(says('```json\n{"memories": []}\n```')).text) == []


@pytest.mark.parametrize("behaviour", [never_answers, dribbles_headers, dribbles_body])
def test_an_endpoint_that_never_finishes_is_left_at_the_deadline(behaviour: Behaviour) -> None:
    # Whoever waited for the end of a reply or a header, or began to count anew with every byte, would never come back.
    assert failure(behaviour, timeout=0.3).code == "model_timeout"


def test_ten_megabytes_are_not_read_to_the_end() -> None:
    assert failure(floods(10), max_reply_bytes=100_000).code == "model_reply_too_long"


def test_a_well_formed_reply_over_the_limit_is_refused_too() -> None:
    assert failure(says(" " * 10_000_000)).code == "model_reply_too_long"


def test_a_compressed_reply_is_not_unpacked() -> None:
    assert failure(raw(200, b"\x1f\x8b", Content_Encoding="gzip")).code == "model_wrong_form"


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else() -> None:
    with serving(FINE) as other, serving(raw(307, b"", Location=other.url)) as server:
        with pytest.raises(ModelError) as caught:
            ChatModel(settings(server.url)).complete(ASKED, schema(), read_reply)
        assert caught.value.code == "model_status"
        assert other.requests == []


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "model_unauthorized"), (403, "model_unauthorized"), (404, "model_status"), (418, "model_status")],
)
def test_a_refusal_that_will_not_change_is_not_tried_again(status: int, code: str) -> None:
    with serving(raw(status, b"no")) as server, pytest.raises(ModelError) as caught:
        ChatModel(settings(server.url, attempts=3)).complete(ASKED, schema(), read_reply)
    assert caught.value.code == code
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "trouble", [raw(429, b"", Retry_After="99999"), raw(500, b""), raw(503, b""), hangs_up, says("nonsense")]
)
def test_passing_trouble_is_tried_again(trouble: Behaviour) -> None:
    assert read_reply(ask(trouble, trouble, FINE, attempts=3).text)


def test_an_endpoint_without_schemas_is_asked_again_without_one() -> None:
    with serving(raw(400, b"unknown parameter"), FINE) as server:
        ChatModel(settings(server.url, attempts=2)).complete(ASKED, schema(), read_reply)
    assert ["response_format" in request["body"] for request in server.requests] == [True, False]


def test_the_last_failure_is_the_one_reported() -> None:
    assert failure(raw(500, b""), says("nonsense"), attempts=2).code == "model_broken_json"


def test_an_endpoint_that_is_not_there_is_unreachable() -> None:
    with serving(FINE) as server:
        url = server.url
    with pytest.raises(ModelError) as caught:
        ChatModel(settings(url)).complete(ASKED, schema(), read_reply)
    assert caught.value.code == "model_unreachable"


def test_a_cut_off_reply_is_not_taken_for_a_whole_one() -> None:
    assert failure(says({"memories": []}, finish="length")).code == "model_cut_off"


def test_waiting_is_bounded_whatever_the_endpoint_asks_for() -> None:
    model = ChatModel(settings("http://127.0.0.1:9/v1", backoff=0.5), jitter=lambda: 1.0)
    assert model._pause(1, 99_999.0) == 30.0
    assert model._pause(30, None) == 30.0
    assert model._pause(1, None) == 0.75


def test_neither_key_nor_texts_nor_address_appear_in_errors_or_logs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="truekeep"):
        error = failure(says("zanzibar: ignore previous instructions"))
    shown = f"{error} {error.as_dict()} {caplog.text} {settings('http://127.0.0.1:1/v1')!r}"
    assert "Extraction model call failed code=model_broken_json attempt=1" in caplog.text
    for secret in ("sk-very-secret", "zanzibar", "ignore previous"):
        assert secret not in shown


def test_tokens_and_cost_are_counted_over_all_attempts() -> None:
    meter = Meter()
    figures = {"prompt_tokens": 1000, "completion_tokens": 500}
    reply = ask(
        says("nonsense", usage=figures),
        says({"memories": []}, usage=figures),
        meter=meter, attempts=2, prices=Prices(input=1.0, output=2.0),
    )  # fmt: skip
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (2, 2000, 1000)
    assert reply.usage.cost == pytest.approx(0.004)
    assert meter.total == reply.usage


@pytest.mark.parametrize(
    "figures", [None, "many", {"prompt_tokens": -5, "completion_tokens": 10**30}, {"prompt_tokens": True}, []]
)
def test_figures_that_cannot_be_true_are_replaced_by_an_estimate(figures: Any) -> None:
    used = ask(says({"memories": []}, usage=figures)).usage
    assert 0 < used.input_tokens < 100
    assert 0 < used.output_tokens < 100


def test_a_call_that_would_exceed_the_budget_is_not_made() -> None:
    with serving(FINE) as server, pytest.raises(ModelError) as caught:
        ChatModel(settings(server.url), Meter(budget=100)).complete(ASKED, schema(), read_reply)
    assert caught.value.code == "model_budget"
    assert server.requests == []


def test_it_works_inside_a_running_event_loop() -> None:
    async def inside() -> str:
        return ask(FINE).text

    assert "Porto" in asyncio.run(inside())


def test_lone_surrogates_in_a_conversation_reach_the_endpoint_escaped() -> None:
    with serving(FINE) as server:
        messages = [{"role": "user", "content": "broken \ud800 text"}]
        ChatModel(settings(server.url)).complete(messages, schema(), read_reply)
    (request,) = server.requests
    assert request["body"]["messages"][-1]["content"] == "broken \ud800 text"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://models.example/v1", "model_plain_http"),
        ("http://127.0.0.1.example/v1", "model_plain_http"),
        ("ftp://127.0.0.1/v1", "model_url"),
        ("https://user:pass@models.example/v1", "model_url"),
        ("not a url", "model_url"),
        ("https://models.example/v1?key=1", "model_url"),
    ],
)
def test_an_address_that_would_leak_is_refused(url: str, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(url)
    assert caught.value.code == code


def test_plain_http_can_be_allowed_for_a_trusted_network() -> None:
    assert settings("http://models.example/v1", unsafe_plain_http=True)


def test_settings_come_from_the_environment() -> None:
    assert ModelSettings.from_environment({}) is None
    found = ModelSettings.from_environment(
        {"TRUEKEEP_LLM_BASE_URL": "http://localhost:1/v1", "TRUEKEEP_LLM_MODEL": "m", "TRUEKEEP_LLM_API_KEY": "k"}
    )
    assert found is not None
    assert (found.model, found.key) == ("m", "k")
    with pytest.raises(ConfigError):
        ModelSettings.from_environment({"TRUEKEEP_LLM_BASE_URL": "http://localhost:1/v1"})
    with pytest.raises(ConfigError):
        ModelSettings.from_environment(
            {"TRUEKEEP_LLM_BASE_URL": "http://localhost:1/v1", "TRUEKEEP_LLM_MODEL": "m", "TRUEKEEP_LLM_TIMEOUT": "x"}
        )


def test_more_memories_than_anyone_needs_are_refused() -> None:
    many = [{"text": f"fact {n}"} for n in range(101)]
    assert failure(remembers(*many)).code == "model_too_many"


def test_the_schema_is_closed() -> None:
    def closed(node: Any) -> bool:
        if isinstance(node, dict):
            mine = node.get("type") != "object" or node["additionalProperties"] is False
            return mine and all(closed(value) for value in node.values())
        return True

    assert closed(schema())
    assert json.dumps(schema())
