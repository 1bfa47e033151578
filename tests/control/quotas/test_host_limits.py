# SPDX-License-Identifier: Apache-2.0
"""Limits of CPUs and memory at each node of the tree: what is refused, what waits and says why, what is counted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control.quotas.test_node_limits import RAISED_BY, TYPE, limit, nodes, reason_of, submit, world  # noqa: F401 (fixtures)
from tests.control.worlds import World, state

pytestmark = pytest.mark.django_db
GIB = 2**30


@pytest.mark.parametrize("where", ["organisation", "inner"])
def test_a_job_waits_for_cpus_and_says_whose_limit_that_is_and_the_tree_counts_what_pods_request(
    world: World,  # noqa: F811
    nodes: dict[str, Any],  # noqa: F811
    where: str,
) -> None:
    limit(world, nodes[where], max_cpus=1)
    first, second = (world.job(min_workers=1, max_workers=1, resources={"memory_gib": 0.25}) for _ in range(2))
    world.rounds(3)
    assert sorted((state(first), state(second))) == ["queued", "running"]
    why = reason_of(world, second if state(second) == "queued" else first)
    name = RAISED_BY[where][0]
    assert why["reason"] == "quota_cpus"
    assert why["sentence"].startswith(f"Insufficient quota: pods of {name} request 1 of its 1 CPU; 1 more would")
    alice = world.cast.client(world.cast.alice)
    tree = alice.get(f"/api/v1/organisations/{world.cast.a.id}/quota-tree").json()
    row = next(row for row in tree["owners"] if row["name"] == name)
    assert (row["max_cpus"], row["used_cpus"], row["used_memory_bytes"]) == (1, 1.0, GIB // 4)
    used = alice.get(f"/api/v1/organisations/{world.cast.a.id}/quota").json()["used"]
    assert (used["cpus"], used["memory_bytes"]) == (1.0, GIB // 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "rules", "kind", "enough", "words"),
    [
        ("organisation", {"max_cpus": 1}, "larger_quota_of_cpus", {"max_cpus": 2}, "2 CPUs"),
        (
            "inner",
            {"max_memory_bytes": GIB // 4},
            "larger_quota_of_memory",
            {"max_memory_bytes": GIB // 2},
            "0.5 GiB of memory",
        ),
        (
            "project",
            {"gpus_by_type": {TYPE: 1}},
            "larger_quota_of_type",
            {"gpus_by_type": {TYPE: 2}},
            f"2 GPUs of type {TYPE}",
        ),
    ],
    ids=["cpus", "memory", "type"],
)
def test_a_job_that_waits_for_a_limit_is_advised_the_limit_that_lets_it_start_and_who_can_raise_it(
    world: World,  # noqa: F811
    nodes: dict[str, Any],  # noqa: F811
    where: str,
    rules: dict[str, Any],
    kind: str,
    enough: dict[str, Any],
    words: str,
) -> None:
    world.settle(policy="fifo")  # which stops no job for a shorter one
    limit(world, nodes[where], **rules)
    over = {"resources": {"memory_gib": 0.25, "gpu_types": [TYPE]}}
    world.job(min_workers=1, max_workers=1, steps_total=1_000_000, **over)
    world.rounds(2)
    waiting = world.job(min_workers=1, max_workers=1, **over)
    world.rounds(2)
    assert state(waiting) == "queued"
    answer = world.cast.client(world.cast.bob).get(f"/api/v1/jobs/{waiting.id}/why").json()["analysis"]
    larger = next(action for action in answer["actions"] if action["kind"] == kind)
    name, by = RAISED_BY[where]
    assert (larger["by"], larger["changes"], larger["tenant"]) == ("administrator", enough, name)
    assert larger["sentence"] == f"Raise the quota of {name} to {words}; {by} can."
    limit(world, nodes[where], **enough)  # the advice is taken, and what was said comes true
    world.rounds(2)
    assert state(waiting) == "running"


@pytest.mark.parametrize(
    ("rules", "body", "field", "asked"),
    [
        ({"max_cpus": 3}, {"resources": {"cpus": 2}, "min_workers": 2}, "resources.cpus", 4.0),
        ({"max_cpus": 1}, {"min_workers": 2}, "min_workers", 2.0),
        ({"max_cpus": 1}, {"mode": "parameter_server"}, "min_workers", 1.5),
        ({"max_memory_bytes": GIB}, {"resources": {"memory_gib": 2}}, "resources.memory_gib", 2.0),
    ],
    ids=["cpus", "usual cpus", "with a server", "memory"],
)
def test_a_job_whose_pods_can_never_run_is_refused_with_whose_limit_it_is_and_who_raises_it(
    world: World,  # noqa: F811
    nodes: dict[str, Any],  # noqa: F811
    rules: dict[str, int],
    body: dict[str, Any],
    field: str,
    asked: float,
) -> None:
    limit(world, nodes["inner"], **rules)
    refused = submit(world, **body)
    assert refused.status_code == 422, refused.content
    found = refused.json()
    assert (found["code"], found["limit"], found["owner"]) == ("quota_exceeded", next(iter(rules)), "perception")
    assert found["asked_amount"] == asked
    (error,) = found["errors"]
    assert error["field"] == field
    assert f"ask an admin of research or of A to raise {found['limit']} of perception" in error["remedy"]
    limit(world, nodes["inner"], **dict.fromkeys(rules))
    assert submit(world, **body).status_code == 201


def test_a_paused_job_that_a_limit_no_longer_lets_run_is_not_resumed(world: World, nodes: dict[str, Any]) -> None:  # noqa: F811
    made = submit(world, min_workers=2).json()["id"]
    bob = world.cast.client(world.cast.bob)
    assert bob.post(f"/api/v1/jobs/{made}/pause").status_code == 200
    limit(world, nodes["outer"], max_cpus=1)
    refused = bob.post(f"/api/v1/jobs/{made}/resume")
    assert (refused.status_code, refused.json()["limit"]) == (422, "max_cpus")


def test_what_would_happen_counts_a_limit_of_memory(world: World, nodes: dict[str, Any]) -> None:  # noqa: F811
    running = world.job(min_workers=1, max_workers=1)
    world.rounds(3)
    wish = {"team": str(nodes["inner"].id), "max_memory_bytes": 0}
    answer = world.cast.client(world.cast.alice).post("/api/v1/what-if", {"quotas": [wish]}, format="json")
    assert answer.status_code == 200, answer.content
    effect = next(one for one in answer.json()["effects"] if one["id"] == str(running.id))
    assert effect["after"]["decision"] == "preempt"


@pytest.mark.parametrize(
    "body", [{"max_cpus": -1}, {"max_cpus": 1.5}, {"max_memory_bytes": "much"}, {"max_memory_bytes": 2**63}], ids=str
)
def test_what_is_no_number_is_refused_by_its_field(world: World, body: dict[str, Any]) -> None:  # noqa: F811
    address = f"/api/v1/projects/{world.cast.project_a.id}/quota"
    refused = world.cast.client(world.cast.alice).patch(address, body, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, next(iter(body)))
