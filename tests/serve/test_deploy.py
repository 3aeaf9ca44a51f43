"""What is in deploy/ is valid, runs nobody as root, and tells the services what their settings know."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from truekeep.config import Settings
from truekeep.serve.settings import PREFIX, ServeSettings

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
KUBERNETES = "1.30"


def documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for path in MANIFESTS for one in documents(path)}


def pods(objects: dict[tuple[str, str], dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for (_, name), one in objects.items():
        if "template" in one.get("spec", {}):
            yield name, one["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    (found,) = documents(DEPLOY / "compose.yaml")
    return found


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_every_manifest_fits_the_schema_of_kubernetes(path: Path) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="the schemas of Kubernetes are not installed")
    for one in documents(path):
        validator.validate(one, KUBERNETES, strict=True)


def test_a_manifest_with_a_mistake_does_not_fit(objects: dict[tuple[str, str], dict[str, Any]]) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="the schemas of Kubernetes are not installed")
    wrong = {**objects["Deployment", "truekeep"], "spec": {**objects["Deployment", "truekeep"]["spec"], "replica": 2}}
    with pytest.raises(validator.ValidationError):
        validator.validate(wrong, KUBERNETES, strict=True)


def test_the_kustomization_names_every_manifest_and_nothing_that_is_not_there() -> None:
    (told,) = documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    assert sorted(told["resources"]) == [path.name for path in MANIFESTS]
    files = [file.partition("=")[2] for one in told["configMapGenerator"] for file in one["files"]]
    assert all((DEPLOY / "kubernetes" / file).is_file() for file in files)


def test_nobody_runs_as_root_or_can_write_what_they_run(objects: dict[tuple[str, str], dict[str, Any]]) -> None:
    seen = dict(pods(objects))
    assert set(seen) == {"truekeep", "migrate", "database", "anchor"}
    for pod in seen.values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]


def test_no_secret_stands_in_a_manifest(objects: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert "Secret" not in {kind for kind, _ in objects}
    for _, pod in pods(objects):
        for one in (one for container in pod["containers"] for one in container["env"]):
            if re.search("PASSWORD|DSN|KEY$", one["name"]):
                assert "secretKeyRef" in one.get("valueFrom", {}) or one["value"].startswith(("file:", "postgres:"))


def test_nobody_talks_to_anybody_unless_a_policy_says_so(objects: dict[tuple[str, str], dict[str, Any]]) -> None:
    nothing = objects["NetworkPolicy", "nothing"]["spec"]
    assert nothing == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    policies = [one["spec"] for (kind, name), one in objects.items() if kind == "NetworkPolicy" and name != "nothing"]
    for policy in policies:
        for way in (*policy.get("ingress", ()), *policy.get("egress", ())):
            assert way["ports"]
            assert way.get("from") or way.get("to")


def service_settings(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, str]:
    (container,) = objects["Deployment", "truekeep"]["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value", "") for one in container["env"]}


def test_every_setting_that_is_given_exists(
    objects: dict[tuple[str, str], dict[str, Any]], compose: dict[str, Any]
) -> None:
    known = {f"{PREFIX}{one.name.upper()}" for one in fields(ServeSettings)}
    known |= {f"TRUEKEEP_{one.name.upper()}" for one in fields(Settings)}
    for given in (service_settings(objects), compose["services"]["truekeep"]["environment"]):
        ours = {name for name in given if name.startswith("TRUEKEEP_") and not name.endswith("_DSN")}
        assert ours - known == set()


def test_whoever_goes_is_given_longer_than_the_notice_and_the_drain(
    objects: dict[tuple[str, str], dict[str, Any]], compose: dict[str, Any]
) -> None:
    deployment = objects["Deployment", "truekeep"]["spec"]
    told = service_settings(objects)
    notice, drain = (float(told[f"{PREFIX}{name}_SECONDS"]) for name in ("NOTICE", "DRAIN"))
    pod = deployment["template"]["spec"]
    probe = pod["containers"][0]["readinessProbe"]
    assert pod["terminationGracePeriodSeconds"] > notice + drain
    assert notice > 2 * probe["periodSeconds"] * probe["failureThreshold"]
    assert told[f"{PREFIX}REPLICAS"] == str(deployment["replicas"]) == "2"
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    service = compose["services"]["truekeep"]
    waits = sum(float(service["environment"][f"{PREFIX}{name}_SECONDS"]) for name in ("NOTICE", "DRAIN"))
    assert float(service["stop_grace_period"].rstrip("s")) > waits
    assert service["environment"][f"{PREFIX}REPLICAS"] == str(service["deploy"]["replicas"])


def test_probes_ask_for_what_the_service_serves(objects: dict[tuple[str, str], dict[str, Any]]) -> None:
    (container,) = objects["Deployment", "truekeep"]["spec"]["template"]["spec"]["containers"]
    asked = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}
    assert asked == {"startup": "/v1/health/ready", "readiness": "/v1/health/ready", "liveness": "/v1/health"}


def test_the_compose_file_fits_its_schema(compose: dict[str, Any]) -> None:
    schema = yaml.safe_load((Path(__file__).parent / "compose.schema.yaml").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(compose)] == []
    compose["services"]["truekeep"]["priviledged"] = True
    assert not validator.is_valid(compose)
    del compose["services"]["truekeep"]["priviledged"]


def test_what_the_compose_file_names_is_there(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert set(service.get("networks", ())) <= set(compose["networks"])
        assert set(service.get("secrets", ())) <= set(compose["secrets"])
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        for volume in service.get("volumes", ()):
            place = volume.split(":")[0]
            assert place in compose["volumes"] or (DEPLOY / place).is_file()
    text = (DEPLOY / "compose.yaml").read_text()
    asked = set(re.findall(r"\$\{(\w+)", text))
    offered = {line.partition("=")[0] for line in (DEPLOY / "example.env").read_text().splitlines() if line[:1] != "#"}
    assert asked == offered
    assert all(f"${{{name}:?}}" in text for name in asked), "without it nothing is started"


def test_the_balancers_configuration_is_one() -> None:
    program = shutil.which("haproxy")
    if program is None:
        pytest.skip("HAProxy is not installed")
    subprocess.run([program, "-c", "-f", str(DEPLOY / "haproxy.cfg")], check=True, capture_output=True, timeout=30)


def test_the_image_has_what_the_manifests_need() -> None:
    built = (DEPLOY / "Containerfile").read_text()
    assert "[serve,postgres,otel]" in built
    assert "--uid 10430" in built
    assert "USER truekeep" in built
