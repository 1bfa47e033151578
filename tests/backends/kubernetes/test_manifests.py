# SPDX-License-Identifier: Apache-2.0
"""Tests of the objects that a gang and a project become."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import claims, in_place, manifests, tenancy
from mlhub.backends.kubernetes.specs.gpus import gpu_offer
from mlhub.backends.kubernetes.specs.sandbox_jobs import sandbox_job, token_secret
from mlhub.wire.launch import AttemptId, Input, LaunchSpec
from tests.backends.kubernetes.devices import DRIVER, resource_slice
from tests.backends.kubernetes.kubelet import node
from tests.backends.kubernetes.schema import problems
from tests.backends.specs import SANDBOX_RUN
from tests.backends.specs import gang as made

GOLDEN = Path(__file__).parent / "golden"
OPTIONS = KubernetesOptions(image="example.org/mlhub-runtime:1", checkpoint_bytes=2**40)
IMAGE = "registry.example.org/team/train:1.4"
OFFERS = {"node-1": gpu_offer(node("node-1"), OPTIONS)}


def spec() -> LaunchSpec:
    return replace(
        made(workers=2, servers=1),
        attempt_id=AttemptId("018f0000-0000-7000-8000-000000000001"),
        job_id="018f0000-0000-7000-8000-0000000000aa",
        api_url="https://mlhub.example.org",
        inputs=(Input("train.npz", "ab" * 32, 1234, "file:///srv/blobs/ab/abab"),),
        labels={"organisation": "Acme", "project": "Street Signs", "job": "mlp", "project_id": "p1"},
    )


def objects(options: KubernetesOptions = OPTIONS) -> list[dict[str, Any]]:
    launch = spec()
    gang = names.gang_of(launch, prefix=options.namespace_prefix)
    owner = manifests.record(launch, gang)
    owner["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    rest = [
        manifests.secret(launch, gang, options),
        manifests.network_policy(launch, gang),
        *(manifests.pod(launch, p, gang, options, offer=OFFERS.get(p.node)) for p in launch.pods),
    ]
    return [owner, *(manifests.owned_by(m, owner) for m in rest)]


def project(options: KubernetesOptions = OPTIONS) -> list[dict[str, Any]]:
    launch = spec()
    namespace = tenancy.namespace(launch.labels, options)
    return [namespace, *tenancy.contents(namespace["metadata"]["name"], options, api_url=launch.api_url, max_gpus=8)]


def golden_objects() -> list[dict[str, Any]]:
    """Without the launch specification, which is the wire's affair and grows there."""
    found = objects()
    for made_of in found:
        if made_of["kind"] == "Secret":
            made_of["data"].pop("launch.json")
            made_of["data"]["addresses.json"] = base64.b64decode(made_of["data"]["addresses.json"]).decode()
    return found


def instructions(found: list[dict[str, Any]], file: str) -> str:
    """A file that the gang's pods read."""
    return base64.b64decode(next(m for m in found if m["kind"] == "Secret")["data"][file]).decode()


def pods() -> list[dict[str, Any]]:
    return [m for m in objects() if m["kind"] == "Pod"]


def sharing() -> list[dict[str, Any]]:
    """A worker on a time-sliced GPU and one on a claimed one, and the claim, as each version of the API has it."""
    launch = spec()
    gang = names.gang_of(launch, prefix=OPTIONS.namespace_prefix)
    owner = {"metadata": {"name": gang.name, "uid": "11111111-2222-3333-4444-555555555555"}}
    sliced = node("node-1", gpus=8, labels={"nvidia.com/gpu.replicas": "2"})
    devices = claims.devices_by_node([resource_slice("node-2")], DRIVER)["node-2"]
    claimed = gpu_offer(node("node-2", gpus=0), OPTIONS, devices)
    first, second = launch.workers
    held = {("node-2", 0): claims.claim_name(gang, "node-2", 0)}
    return [
        *(claims.claim(owner, gang, "node-2", 0, OPTIONS, version=version) for version in claims.VERSIONS),
        manifests.pod(launch, first, gang, OPTIONS, offer=gpu_offer(sliced, OPTIONS)),
        manifests.pod(launch, second, gang, OPTIONS, offer=claimed, claims=held),
    ]


def sandbox_run() -> list[dict[str, Any]]:
    return [sandbox_job(SANDBOX_RUN, OPTIONS), token_secret(SANDBOX_RUN, OPTIONS)]


def with_image() -> list[dict[str, Any]]:
    """A worker and a parameter server of a job that brings an image."""
    launch = replace(spec(), image=IMAGE)
    gang = names.gang_of(launch, prefix=OPTIONS.namespace_prefix)
    return [manifests.pod(launch, p, gang, OPTIONS, offer=OFFERS.get(p.node)) for p in (launch.pods[0], launch.pods[2])]


GOLDEN_FILES = {
    "image.yaml": with_image,
    "gang.yaml": golden_objects,
    "project.yaml": project,
    "sharing.yaml": sharing,
    "run.yaml": sandbox_run,
}


@pytest.mark.parametrize(("file", "made"), GOLDEN_FILES.items())
def test_objects_are_those_of_the_golden_file(file: str, made: Any) -> None:
    """MLHUB_WRITE_GOLDEN=1 writes the files anew; read the difference before committing it."""
    found = yaml.safe_dump_all(made(), sort_keys=True, width=120)
    if os.environ.get("MLHUB_WRITE_GOLDEN"):
        (GOLDEN / file).write_text(found)
    assert found == (GOLDEN / file).read_text()


@pytest.mark.parametrize(
    "options", [OPTIONS, KubernetesOptions(cache_bytes=1, runtime_class="nvidia", priority_class="low")]
)
def test_every_object_fits_the_schema_of_its_kind(options: KubernetesOptions) -> None:
    assert [p for m in objects(options) + project(options) + sharing() + sandbox_run() for p in problems(m)] == []


@pytest.mark.parametrize("chosen", ["", "training"])
def test_pods_have_the_priority_class_of_the_settings(chosen: str) -> None:
    launch = spec()
    gang = names.gang_of(launch, prefix="mlhub")
    made = manifests.pod(launch, launch.pods[0], gang, KubernetesOptions(priority_class=chosen))
    assert made["spec"].get("priorityClassName", "") == chosen


def test_the_schema_check_sees_unknown_missing_and_wrong_fields() -> None:
    broken = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"hostnam": "a", "containers": [{"image": "x", "tty": "yes"}]},
    }
    message = " ".join(problems(broken))
    assert "hostnam: unknown field" in message
    assert "name: Field required" in message
    assert "tty" in message


def test_secrets_are_in_the_secret_and_nowhere_else() -> None:
    launch = replace(spec(), token="the-token", gang_secret="feed", secrets={"KEY": "s3cret-value"})
    gang = names.gang_of(launch, prefix="mlhub")
    others = [
        manifests.record(launch, gang),
        *(manifests.pod(launch, p, gang, OPTIONS) for p in launch.pods),
    ]
    assert "the-token" not in json.dumps(others)
    assert "feed" not in json.dumps(others)
    assert "s3cret-value" not in json.dumps(others)
    texts = manifests.secret(launch, gang, OPTIONS)["data"]
    for name in ("launch.json", "addresses.json"):
        read = base64.b64decode(texts.pop(name)).decode()
        assert not any(secret in read for secret in ("the-token", "feed", "s3cret-value"))
    assert set(texts) == {"token", "secret", "secrets.json"}


def test_pods_keep_to_the_restricted_standard() -> None:
    allowed_volumes = {"emptyDir", "secret", "persistentVolumeClaim"}
    for pod in pods():
        body = pod["spec"]
        assert body["automountServiceAccountToken"] is False
        assert body["securityContext"]["runAsNonRoot"] is True
        assert body["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {key for v in body["volumes"] for key in v if key != "name"} <= allowed_volumes
        for container in body["initContainers"] + body["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            limits = container["resources"]["limits"]
            assert {"cpu", "memory", "ephemeral-storage"} <= set(limits)
            assert container["resources"]["requests"] == {**limits, "ephemeral-storage": str(2**30)}


def test_only_the_main_container_of_workers_runs_the_image_of_the_job_and_nothing_else_of_it_differs() -> None:
    worker, server = with_image()
    plain = pods()
    assert server["spec"] == plain[2]["spec"]
    [main], [usual] = worker["spec"]["containers"], plain[0]["spec"]["containers"]
    assert main["image"] == IMAGE
    assert worker["spec"]["initContainers"] == plain[0]["spec"]["initContainers"]
    assert {key for key in main if main[key] != usual[key]} == {"image", "command"}
    assert worker["metadata"]["annotations"][names.IMAGE] == IMAGE
    assert names.IMAGE not in server["metadata"]["annotations"]


@pytest.mark.parametrize("wrong", ["https://registry.example.org/", "a b", "registry.example.org/ml/,Train"])
def test_a_list_of_images_that_allows_nothing_is_reported_with_its_name(wrong: str) -> None:
    with pytest.raises(ValueError, match="MLHUB_KUBE_IMAGES has"):
        KubernetesOptions.from_settings({"images": wrong})


def test_gpus_are_asked_for_where_slots_are_gpus() -> None:
    wanted = [p["spec"]["containers"][0]["resources"]["limits"].get("nvidia.com/gpu") for p in pods()]
    assert wanted == ["1", None, None]


def test_pods_reach_each_other_by_stable_names() -> None:
    addresses = json.loads(instructions(objects(), "addresses.json"))
    service = objects()[0]["metadata"]
    for pod in pods():
        host = f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}.{service['namespace']}.svc"
        assert any(address.startswith(f"{host}:") for address in addresses["members"].values())
        assert pod["spec"]["subdomain"] == service["name"]
    assert addresses["master"].split(".")[0].endswith("worker-0")


def test_pods_fetch_what_lies_on_the_platforms_disk_over_the_ingest_api() -> None:
    launch = LaunchSpec.from_json(instructions(objects(), "launch.json"))
    attempt = spec().attempt_id
    assert launch.inputs[0].uri == f"https://mlhub.example.org/api/v1/ingest/attempts/{attempt}/blobs/{'ab' * 32}"
    assert launch.checkpoint_uri == f"file:///mlhub/checkpoints/{spec().job_id}"


def test_names_fit_a_dns_label_whatever_the_attempt_is_called() -> None:
    for attempt in ("a", "Ünïcode and spaces", "x" * 200, "-dash-", str(spec().attempt_id)):
        assert manifests_name_fits(names.gang_name(AttemptId(attempt)))


def manifests_name_fits(name: str) -> bool:
    return len(f"{name}-worker-99999") <= 63 and names._LABEL.fullmatch(name) is not None


def test_projects_of_like_names_have_namespaces_of_their_own() -> None:
    found = {
        names.namespace_of({"organisation": o, "project": p}, prefix="mlhub")
        for o, p in (("a", "b"), ("a", "B"), ("a/b", ""), ("", "a/b"), ("c", "b"))
    }
    assert len(found) >= 4
    assert all(len(n) <= 63 for n in found)


def test_a_settings_typo_is_reported_with_its_name() -> None:
    with pytest.raises(ValueError, match="MLHUB_KUBE_IMGAE"):
        KubernetesOptions.from_settings({"imgae": "x"})
    with pytest.raises(ValueError, match="MLHUB_KUBE_CPU_SLOTS is 'many'"):
        KubernetesOptions.from_settings({"cpu_slots": "many"})
    assert KubernetesOptions.from_settings({"cpu_slots": "4", "image": ""}).cpu_slots == 4


def test_the_ingest_address_is_the_only_way_out() -> None:
    policies = {m["metadata"]["name"]: m["spec"] for m in project() if m["kind"] == "NetworkPolicy"}
    assert policies[tenancy.DEFAULT_DENY] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    contents = tenancy.contents("ns", KubernetesOptions(api_url="http://10.1.2.3:8000"), api_url="http://elsewhere")
    egress = next(m for m in contents if m["metadata"]["name"] == tenancy.ALLOWED)["spec"]["egress"]
    assert egress[1] == {
        "to": [{"ipBlock": {"cidr": "10.1.2.3/32"}}],
        "ports": [{"protocol": "TCP", "port": 8000}],
    }


IN_PLACE = {
    "store_claim": {"persistentVolumeClaim": {"claimName": "blobs", "readOnly": True}},
    "store_csi": {
        "csi": {
            "driver": "nfs.csi.k8s.io",
            "readOnly": True,
            "volumeAttributes": {"server": "files.example.org", "share": "/blobs"},
        }
    },
}


@pytest.mark.parametrize(
    "options",
    [
        KubernetesOptions(store_claim="blobs", in_place_from_bytes=1000),
        KubernetesOptions(store_csi="nfs.csi.k8s.io?server=files.example.org&share=/blobs", in_place_from_bytes=1000),
    ],
)
def test_large_inputs_are_read_in_place_and_nothing_else_of_the_store_is_seen(options: KubernetesOptions) -> None:
    found = objects(options)
    launch = LaunchSpec.from_json(instructions(found, "launch.json"))
    assert launch.inputs[0].uri == f"file:///mlhub/store/{'ab' * 32}"
    volume = IN_PLACE["store_claim" if options.store_claim else "store_csi"]
    for body in (m["spec"] for m in found if m["kind"] == "Pod"):
        assert {"name": "store", **volume} in body["volumes"]
        for container in body["initContainers"] + body["containers"]:
            [mount] = [m for m in container["volumeMounts"] if m["name"] == "store"]
            assert mount["subPath"] == f"ab/ab/{'ab' * 32}"
            assert mount["readOnly"] is True
    assert [p for m in found for p in problems(m)] == []


def test_small_inputs_are_brought_and_need_no_volume() -> None:
    found = objects(KubernetesOptions(store_claim="blobs", in_place_from_bytes=10_000))
    assert not any(v["name"] == "store" for m in found if m["kind"] == "Pod" for v in m["spec"]["volumes"])
    launch = LaunchSpec.from_json(instructions(found, "launch.json"))
    assert launch.inputs[0].uri.startswith("https://")


def test_a_csi_volume_that_means_nothing_names_the_setting() -> None:
    with pytest.raises(ValueError, match="MLHUB_KUBE_STORE_CSI"):
        in_place.parse_csi("nfs share")


def test_pods_reach_an_object_store_only_where_it_is_opened() -> None:
    opened = KubernetesOptions(store_cidr="198.51.100.0/24", store_namespace="minio", store_port=9000)
    policies = tenancy.contents("ns", opened, api_url="https://mlhub.example.org")
    egress = next(m for m in policies if m["metadata"]["name"] == tenancy.ALLOWED)["spec"]["egress"]
    assert egress[2] == {
        "to": [
            {"ipBlock": {"cidr": "198.51.100.0/24"}},
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "minio"}}},
        ],
        "ports": [{"protocol": "TCP", "port": 9000}],
    }
    shut = tenancy.contents("ns", KubernetesOptions(), api_url="https://mlhub.example.org")
    assert len(next(m for m in shut if m["metadata"]["name"] == tenancy.ALLOWED)["spec"]["egress"]) == 2
