# SPDX-License-Identifier: Apache-2.0
"""Tests of the Helm chart: its values, what it renders to, and the rights it grants."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.helm.render import ACCESS_RULES, CHART, RENDERED, access_rules, digest
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.kubernetes.options import KubernetesOptions
from tests.backends.kubernetes.schema import problems

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SHOWN = ["trial", "production", "scheduled"]


def rendered(name: str) -> list[dict[str, Any]]:
    return list(yaml.load_all((RENDERED / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader))


def kinds(name: str, kind: str) -> dict[str, dict[str, Any]]:
    return {o["metadata"]["name"]: o for o in rendered(name) if o["kind"] == kind}


def pod_specs(name: str) -> list[dict[str, Any]]:
    """Of every pod, that of `helm test` among them."""
    templates = [o["spec"]["template"] for o in rendered(name) if o["kind"] in ("Deployment", "StatefulSet", "Job")]
    return [pod["spec"] for pod in [*templates, *(o for o in rendered(name) if o["kind"] == "Pod")]]


def refused(values: Any) -> list[str]:
    """What the chart's schema says against these values."""
    import jsonschema  # three seconds of processors, which collecting would take in every process

    kind = jsonschema.validators.validator_for(SCHEMA)
    kind.check_schema(SCHEMA)
    return [error.message for error in kind(SCHEMA).iter_errors(values)]


def merged(before: Any, change: Any) -> Any:
    if isinstance(before, dict) and isinstance(change, dict):
        return {**before, **{key: merged(before.get(key), value) for key, value in change.items()}}
    return change


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_what_the_chart_renders_to(name: str) -> None:
    """After a change of the chart: python -m deploy.helm.render, and read the difference."""
    first = (RENDERED / f"{name}.yaml").read_text().partition("\n")[0]
    assert first == f"# {digest(RENDERED / f'{name}.values.yaml')}"


@pytest.mark.parametrize("name", SHOWN)
def test_every_object_fits_the_schema_of_its_kind(name: str) -> None:
    ours = [o for o in rendered(name) if not o["apiVersion"].startswith("monitoring.coreos.com/")]
    assert [p for o in ours for p in problems(o)] == []


def test_prometheus_finds_the_web_servers_and_the_token() -> None:
    """A ServiceMonitor is the Prometheus operator's kind; what it points to is ours."""
    [monitor] = kinds("production", "ServiceMonitor").values()
    [service] = kinds("production", "Service").values()
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["authorization"]["credentials"] == {"name": "mlhub-secrets", "key": "MLHUB_METRICS_TOKEN"}
    assert kinds("trial", "ServiceMonitor") == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_the_values_fit_their_schema(name: str) -> None:
    given = yaml.safe_load((RENDERED / f"{name}.values.yaml").read_text())
    assert refused(VALUES) == []
    assert refused(merged(VALUES, given)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"web": {"replicas": 0}},
        {"web": {"replica": 2}},
        {"publicUrl": "mlhub.example.org"},
        {"secret": {"djangoKey": "short"}},
        {"database": {"url": "mysql://x"}},
        {"state": {"size": "100 GB"}},
        {"kubernetes": {"cpu_slot": 3}},
        {"store": {"address": "gs://bucket"}},
        {"store": {"endpoint": "files.example.org"}},
        {"kubernetes": {"cpu_slots": "3"}},
        {"kubernetes": {"namespace_prefix": "kube"}},
        {"redis": {"password": 'with "quotes" and blanks'}},
        {"database": {"password": "with blanks"}},
        {"web": {"trustedProxies": ["ingress-nginx"]}},
        {"network": {"apiServerPorts": []}},
        {"pods": {"tolerations": "all"}},
        {"worker": {"extraEnv": [{"NAME": "x"}]}},
        {"beat": {"replicas": 2}},
        {"control": {"resources": {"limit": {"cpu": "1"}}}},
        {"secret": {"previousKeys": ["short"]}},
        {"packages": {"hosts": ["https://files.example.org"]}},
        {"packages": {"buildSources": "no"}},
        {"kubernetes": {"images": "registry.example.org/ml/"}},
        {"kubernetes": {"images": ["a,b"]}},
    ],
)
def test_values_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    assert refused(merged(VALUES, wrong)) != []


def test_every_option_of_the_backend_can_be_set_or_is_set_by_the_chart() -> None:
    data = kinds("production", "ConfigMap")["mlhub"]["data"]
    by_chart = {key.removeprefix("MLHUB_KUBE_").lower() for key in data if key.startswith("MLHUB_KUBE_")}
    for_check_only = {"kubeconfig", "context", "program"}
    options = {field.name for field in fields(KubernetesOptions)}
    assert set(SCHEMA["properties"]["kubernetes"]["properties"]) | by_chart | for_check_only == options
    KubernetesOptions.from_settings({k.removeprefix("MLHUB_KUBE_").lower(): v for k, v in data.items() if "KUBE_" in k})


def test_the_packages_of_code_come_from_where_the_values_say() -> None:
    given, usual = (kinds(name, "ConfigMap")["mlhub"]["data"] for name in ("production", "trial"))
    assert given["MLHUB_PACKAGE_INDEX_URL"] == "https://packages.example.org/simple"
    assert given["MLHUB_PACKAGE_HOSTS"].split(",") == ["files.example.org", "files.example.org:8443"]
    assert (given["MLHUB_BUILD_SOURCES"], usual["MLHUB_BUILD_SOURCES"]) == ("0", "1")
    assert "MLHUB_PACKAGE_HOSTS" not in usual


def test_the_chart_has_the_backends_rules_of_access() -> None:
    """After a change of access.py: python -m deploy.helm.render."""
    assert ACCESS_RULES.read_text() == access_rules()


@pytest.mark.parametrize("name", ["trial", "production"])
def test_the_chart_grants_the_list_of_rights_and_only_to_the_control_loop(name: str) -> None:
    [role] = kinds(name, "ClusterRole").values()
    assert role["rules"] == [rule.to_rbac() for rule in RULES]
    for component, deployment in kinds(name, "Deployment").items():
        spec = deployment["spec"]["template"]["spec"]
        assert ("serviceAccountName" in spec) == component.endswith("-control")
        assert spec.get("automountServiceAccountToken", True) == component.endswith("-control")


@pytest.mark.parametrize("name", SHOWN)
def test_mlhubs_own_pods_keep_to_the_restricted_standard_too(name: str) -> None:
    for spec in pod_specs(name):
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {"cpu", "memory"} <= set(container["resources"]["limits"])
            assert not container["image"].endswith(":latest")


def test_the_web_that_training_pods_may_reach_is_the_one_that_the_chart_makes() -> None:
    [service] = [s for n, s in kinds("trial", "Service").items() if n.endswith("-web")]
    labels = kinds("trial", "Deployment")["mlhub-web"]["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/component"] == "web"
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["ports"][0]["targetPort"] == "http"
    data = kinds("trial", "ConfigMap")["mlhub"]["data"]
    assert data["MLHUB_KUBE_API_URL"] == "http://mlhub-web.mlhub.svc:8000"
    assert "mlhub-web.mlhub.svc" in data["MLHUB_ALLOWED_HOSTS"]


@pytest.mark.parametrize("section", [*SCHEMA["properties"], *SCHEMA["definitions"]])
def test_the_schema_knows_every_value_and_refuses_others(section: str) -> None:
    found = SCHEMA["properties"].get(section) or SCHEMA["definitions"][section]
    if found.get("type") == "object" and section not in ("global", "texts"):
        assert found["additionalProperties"] is False
    known = set(found.get("properties", {}))
    assert set(VALUES[section] if isinstance(VALUES.get(section), dict) else {}) <= known


def test_numbers_arrive_as_they_were_written() -> None:
    """Helm knows floats only: large ones must not become powers of ten, nor parts be cut off."""
    data = kinds("production", "ConfigMap")["mlhub"]["data"]
    assert data["MLHUB_KUBE_WORKER_CPUS"] == "2.5"
    assert data["MLHUB_KUBE_NIC_BPS"] == "25000000000"
    assert data["MLHUB_KUBE_CHECKPOINT_BYTES"] == "1099511627776"


def test_databases_of_ones_own_replace_the_bundled_ones() -> None:
    assert set(kinds("trial", "StatefulSet")) == {"mlhub-postgres", "mlhub-valkey"}
    assert kinds("production", "StatefulSet") == {}
    assert kinds("production", "Secret") == {}


def test_two_control_loops_run_and_survive_a_drain() -> None:
    assert kinds("trial", "Deployment")["mlhub-control"]["spec"]["replicas"] == 2
    assert kinds("trial", "PodDisruptionBudget")["mlhub-control"]["spec"]["maxUnavailable"] == 1


def test_the_chart_and_the_images_name_one_version(tmp_path: Path) -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    assert VALUES["image"] | {"pullPolicy": "", "pullSecret": ""} == {
        "server": f"mlhub-server:{version}",
        "runtime": f"mlhub-runtime:{version}",
        "pullPolicy": "",
        "pullSecret": "",
    }
    assert KubernetesOptions().image == f"mlhub-runtime:{version}"


def test_a_bucket_is_configured_in_mlhub_and_opened_to_its_pods() -> None:
    data = kinds("production", "ConfigMap")["mlhub"]["data"]
    assert data["MLHUB_STORE"] == "s3://mlhub-blobs/production"
    assert data["MLHUB_STORE_POD_ENDPOINT"] == "https://s3.example.org"
    assert data["MLHUB_KUBE_STORE_CIDR"] == "198.51.100.0/24"
    assert "MLHUB_STORE" not in kinds("trial", "ConfigMap")["mlhub"]["data"]
