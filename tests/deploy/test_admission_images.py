# SPDX-License-Identifier: Apache-2.0
"""Which images the chart's admission policies let training pods run: the allow-list of jobs, and nothing besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.specs import manifests
from tests.deploy.admission import Object
from tests.deploy.writes import HOME, POLICIES, PRODUCTION, TRIAL, create, namespace, objects, spec

ALLOWED = [
    "registry.example.org/ml/train:1",
    "registry.example.org/ml/deep/train",
    "registry.example.org/team/train:2",
    f"registry.example.org/base@sha256:{'0123456789abcdef' * 4}",
]
NOT_ALLOWED = [
    "registry.example.org/mlx/train:1",
    "registry.example.org/team/train",
    "registry.example.org/team/train-evil:1",
    "registry.example.org/base:1",
    "evil.example.org/registry.example.org/ml/train:1",
]


def pod(image: str, *, index: int = 0) -> Object:
    """A member of a gang whose job brings the image; the last one is a parameter server."""
    launch = replace(spec(), image=image)
    gang = names.gang_of(launch, prefix=PRODUCTION.namespace_prefix, installation=PRODUCTION.installation_id)
    return manifests.pod(launch, launch.pods[index], gang, PRODUCTION)


def refusals(found: Object, *, chart: str = "production") -> list[str]:
    options = {"production": PRODUCTION, "trial": TRIAL}[chart]
    return POLICIES[chart].refusals(create(found, within=namespace(options)))


@pytest.mark.parametrize("image", ALLOWED)
def test_workers_run_what_the_chart_allows(image: str) -> None:
    assert PRODUCTION.allowed_images
    assert refusals(pod(image)) == []


@pytest.mark.parametrize("image", NOT_ALLOWED)
def test_workers_run_nothing_else(image: str) -> None:
    [said] = refusals(pod(image))
    assert "kubernetes.images" in said


@pytest.mark.parametrize("image", ALLOWED)
def test_without_a_list_no_image_of_a_job_is_admitted(image: str) -> None:
    assert TRIAL.allowed_images == ()
    assert [said for said in refusals(pod(image), chart="trial") if "kubernetes.images" in said]


def test_the_init_step_servers_other_containers_and_jobs_stay_on_the_platforms_image() -> None:
    [image, *_] = ALLOWED
    init, sidecar, server, unmarked = pod(image), pod(image), pod(image, index=2), pod(image)
    init["spec"]["initContainers"][0]["image"] = image
    sidecar["spec"]["containers"].append({**sidecar["spec"]["containers"][0], "name": "sidecar"})
    assert refusals(server) == []
    server["spec"]["containers"][0]["image"] = image
    unmarked["metadata"]["labels"].pop(names.ROLE)
    run = next(found for found in objects(PRODUCTION) if found["kind"] == "Job")
    assert run["metadata"]["namespace"] == HOME
    assert refusals(run) == []
    run["spec"]["template"]["spec"]["containers"][0]["image"] = image
    run["spec"]["template"]["metadata"]["labels"][names.ROLE] = "worker"
    for found in (init, sidecar, server, unmarked, run):
        [said] = refusals(found)
        assert "kubernetes.images" in said
