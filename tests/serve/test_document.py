"""The OpenAPI document against the service: no answer outside it, and no failure, whatever is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serve.conftest import KINDS, Served, running
from tests.serve.test_long_term import create

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("TRUEKEEP_EXAMPLES", "300" if os.environ.get("TRUEKEEP_LONG") else "4"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("documented")) as service:
        create(service.client("owner"), "I like tea", id="a-memory", session_id="a-session")
        create(service.client("web"), "The shop closes at six")
        yield service


def test_the_document_is_openapi_3_1_and_says_how_callers_are_known(documented: Served) -> None:
    document = documented.client(None).get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["components"]["securitySchemes"]) == {"token", "password"}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            for code, answer in operation["responses"].items():
                if code >= "400":
                    assert set(answer["content"]) == {"application/problem+json"}, (path, code)


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_every_operation_answers_as_documented_whatever_is_sent(documented: Served) -> None:
    document = documented.client(None).get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    failures: dict[str, str] = {}
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        label = f"{operation.method.upper()} {operation.path}"

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
            database=None,
        )
        @given(case=operation.as_strategy(), kind=st.sampled_from(sorted(KINDS)))
        def holds(case: Any, kind: str) -> None:
            headers = {"Authorization": f"Bearer {documented.token(kind)}"}
            answer = case.call(base_url=documented.address, headers=headers)
            case.validate_response(answer, checks=CHECKS)

        try:
            holds()
        except BaseException as error:
            failures[label] = str(error)[:1500] + "".join(str(one)[:600] for one in getattr(error, "exceptions", ()))
    assert failures == {}, "\n\n".join(f"{label}\n{text}" for label, text in failures.items())
