# SPDX-License-Identifier: Apache-2.0
"""How an attempt becomes the specification of a gang."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mlhub.control.pods.launch_specs import data_plane_of
from mlhub.wire.launch import DataPlane, PodPlacement, PodRole, Resources
from tests.cast import make_cast
from tests.control.worlds import World

SIZE = Resources(gpus=1, cpus=1.0, memory_bytes=1)


@pytest.mark.parametrize(
    ("setting", "nodes", "plane"),
    [
        ("auto", ["a", "a"], DataPlane.HMAC),
        ("auto", ["a", "b"], DataPlane.TLS),
        ("tls", ["a", "a"], DataPlane.TLS),
        ("hmac", ["a", "b"], DataPlane.HMAC),
    ],
)
def test_the_cluster_decides_who_speaks_encrypted(
    setting: str, nodes: list[str], plane: DataPlane, settings: Any
) -> None:
    settings.DATA_PLANE = setting
    pods = tuple(PodPlacement(PodRole.WORKER, i, node, SIZE) for i, node in enumerate(nodes))
    assert data_plane_of(pods) is plane


@pytest.mark.django_db
@pytest.mark.parametrize("reads_disk", [True, False])
def test_pods_that_do_not_read_the_platforms_disk_fetch_their_inputs(reads_disk: bool, settings: Any) -> None:
    world = World(make_cast(), now=datetime.now(UTC))
    world.backend.reads_platform_disk = reads_disk
    world.job()
    world.round()
    (spec,) = world.backend.launches
    assert spec.inputs
    assert {item.uri.startswith(f"{settings.PUBLIC_URL}/api/v1/ingest/attempts/") for item in spec.inputs} == {
        not reads_disk
    }


@pytest.mark.django_db
@pytest.mark.parametrize(("limits", "waits_s"), [({}, 900.0), ({"stall_s": 7200}, 7200.0)])
def test_workers_wait_for_each_other_as_long_as_the_job_may_make_no_step(
    limits: dict[str, int], waits_s: float, settings: Any
) -> None:
    settings.STALL_LIMIT_S, settings.START_TIMEOUT_S = 900.0, 300.0
    world = World(make_cast(), now=datetime.now(UTC))
    job = world.job()
    job.limits = limits
    job.save(update_fields=["limits"])
    world.round()
    (spec,) = world.backend.launches
    assert (spec.start_timeout_s, spec.stall_limit_s) == (300.0, waits_s)
