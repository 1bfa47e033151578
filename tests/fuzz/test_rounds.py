# SPDX-License-Identifier: Apache-2.0
"""Whatever pods and clusters write, every round is finished and every other job goes on."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from mlhub.backends.fake import FakeBackend
from mlhub.backends.local import LocalBackend, read_cluster
from mlhub.backends.protocol import AttemptStatus, GangPhase, NodeStatus
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.wire.launch import AttemptId
from mlhub.wire.report import (
    CheckpointReport,
    FailureReport,
    MetricReport,
    PhaseReport,
    ProgressReport,
    Report,
    ResultReport,
    StalenessReport,
    to_dict,
)
from tests.backends.specs import program
from tests.cast import make_cast
from tests.contract.test_backend import CLUSTER, wait
from tests.control.worlds import World, node, state
from tests.fuzz.corruptions import STRANGE, chunks_of, corrupted_bytes, corrupted_json
from tests.jobs.builders import live_attempt

pytestmark = [pytest.mark.chaos, pytest.mark.django_db]
AT = 1.7e9
REPORTS: list[Report] = [
    MetricReport(step=3, epoch=0.1, at=AT, values={"train/loss": 0.5}),
    ProgressReport(
        at=AT, steps_done=5, steps_total=1000, epoch=0.1, n_workers=1, n_servers=0, batch_size=32, step_s=0.1,
        compute_s=0.05, sync_s=0.04, input_s=0.01, parameters_bytes=400_000, measured={"noise_scale": 512.0},
    ),
    StalenessReport(at=AT, counts=[5, 3, 1], n_discarded=0),
    CheckpointReport(at=AT, step=5, name="step-5", size_bytes=1000, write_s=0.1, stall_s=0.0),
    PhaseReport(
        at=AT, phase="stalled", since_start_s=5.0, detail={"doing": "compute", "step": 5, "still_s": 61.0}
    ),
    PhaseReport(at=AT, phase="training", since_start_s=3.0, detail={"step": 0}),
    FailureReport(at=AT, cause="user_code", message="ValueError: no", traceback="Traceback ..."),
    ResultReport(at=AT, steps=1000, metrics={"eval/accuracy": 0.9}),
]  # fmt: skip
BODY = {"version": 1, "role": "worker", "index": 0, "stream": "reports", "first": 0}


def finished_round(world: World, example: str) -> None:
    """One round, which must be finished."""
    record = world.loop.round_or_record_failure()
    assert record is not None, example
    assert record.error == "", example


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBackend]:
    backend = LocalBackend(tmp_path, read_cluster(CLUSTER), argv=program(tmp_path))
    yield backend
    for status in backend.observe():
        backend.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in backend.observe()))


@pytest.mark.parametrize(("seed", "n_examples"), chunks_of(0.2))
def test_no_file_of_a_gang_of_the_local_backend_loses_a_round(local: LocalBackend, seed: int, n_examples: int) -> None:
    world = World(make_cast(), backend=local)  # type: ignore[arg-type]
    well = world.job(name="well", hyperparameters={"behave": "run"}, max_workers=1)
    finished_round(world, "launch")
    finished_round(world, "follow")
    assert state(well) == "running"
    dice = random.Random(11_000 + seed)
    for number in range(n_examples):
        sick, attempt = _opened(world, "n-none", number)
        folder = local.home / "pods" / str(attempt.id)
        example = _write_corrupted(dice, folder, _files_of(local, well, attempt))
        finished_round(world, example)
        assert state(well) == "running", example
        shutil.rmtree(folder, ignore_errors=True)
        finished_round(world, example)
        sick.delete()


@pytest.mark.parametrize(("seed", "n_examples"), chunks_of(0.35))
def test_no_status_of_a_gang_or_node_loses_a_round(seed: int, n_examples: int) -> None:
    backend = StrangeBackend()
    world = World(make_cast(), backend=backend)
    well = world.job(name="well", max_workers=1)
    finished_round(world, "launch")
    backend.own = {str(live_attempt(well).id)}
    dice = random.Random(13_000 + seed)
    for number in range(n_examples):
        sick, attempt = _opened(world, "n0", number)
        whole = AttemptStatus(
            AttemptId(str(attempt.id)), dice.choice(list(GangPhase)), (), None, "", world.now, world.now
        )
        backend.strange = [_strange(dice, whole) for _ in range(dice.randrange(1, 3))]
        backend.nodes = [node("n0"), node("n1", "r1"), _strange(dice, node("sick", "r2"))]
        example = f"{backend.strange} {backend.nodes[-1]}"[:2000]
        finished_round(world, example)
        assert state(well) == "running", example
        backend.strange = []
        sick.delete()
    finished_round(world, "after all")
    assert state(well) == "running"


@pytest.mark.parametrize(("seed", "n_examples"), chunks_of(0.35))
def test_no_body_of_a_report_loses_a_round(
    world_with_gang: tuple[World, Job, Attempt], seed: int, n_examples: int
) -> None:
    world, well, attempt = world_with_gang
    client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
    client.raise_request_exception = False
    dice, wanted = random.Random(17_000 + seed), 0
    for _ in range(n_examples):
        whole = {**BODY, "first": wanted, "lines": [to_dict(dice.choice(REPORTS)) for _ in range(dice.randrange(1, 4))]}
        if dice.random() < 0.5:
            content = json.dumps(corrupted_json(dice, whole)).encode(errors="replace")
        else:
            content = corrupted_bytes(dice, json.dumps(whole).encode(), b"{}")
        address = f"/api/v1/ingest/attempts/{attempt.id}/reports"
        answer = client.generic("POST", address, content, content_type="application/json")
        example = content[:2000].decode(errors="replace")
        assert answer.status_code < 500, example
        if answer.status_code == 200:
            wanted = answer.json()["next"]
        finished_round(world, example)
        assert state(well) == "running", example


@pytest.fixture
def world_with_gang() -> tuple[World, Job, Attempt]:
    """A world with a job that is well, and another that reports; both run."""
    world = World(make_cast())
    well, sick = world.job(name="well", max_workers=1), world.job(name="sick", max_workers=1)
    world.rounds(2)
    return world, well, live_attempt(sick)


class StrangeBackend(FakeBackend):
    """Shows strange statuses too, of gangs that it does not know. own: those that it does know."""

    def __init__(self) -> None:
        super().__init__([node("n0"), node("n1", "r1")])
        self.strange: list[AttemptStatus] = []
        self.own: set[str] = set()

    def observe(self) -> list[AttemptStatus]:
        return [*super().observe(), *self.strange]


def _opened(world: World, on: str, number: int) -> tuple[Job, Attempt]:
    sick = world.job(name=f"sick {number}", max_workers=1)
    held = [attempts.Held(on, (1,), 0)]
    size = {"mode": "all_reduce", "n_workers": 1, "n_servers": 0, "held": held, "predicted_step_s": None}
    attempt = attempts.open_attempt(sick, **size, reason="fits", now=world.now)  # type: ignore[arg-type]
    assert attempt is not None
    return sick, attempt


def _strange(dice: random.Random, whole: Any) -> Any:
    """The status with one to three fields replaced."""
    names = [name for name in asdict(whole) if name not in ("attempt_id", "is_ready", "is_schedulable")]
    changes = {name: dice.choice(STRANGE) for name in dice.sample(names, dice.randrange(1, 4))}
    if isinstance(whole, NodeStatus) and changes.get("name") in ("n0", "n1"):
        changes.pop("name")
    return replace(whole, **changes)


def _files_of(local: LocalBackend, well: Job, attempt: Attempt) -> dict[str, str]:
    """The files of a gang that runs, of that attempt."""
    pattern = (local.home / "pods" / str(live_attempt(well).id) / "launch.json").read_text()
    spec = pattern.replace(str(live_attempt(well).id), str(attempt.id))
    return {
        "launch.json": json.dumps({"pid": 1, "started": 1, "spec": json.loads(spec)["spec"]}),
        "launched.json": '{"at": 1.0}',
        "stop.json": '{"deadline": 1.0, "why": "asked", "asked_at": 1.0}',
        "worker-0/shim.json": '{"pid": 999999999, "started": 1, "child": 999999998, "child_started": 1}',
        "worker-0/exit.json": '{"code": 0, "cause": "", "message": "", "at": 1.0}',
    }


def _write_corrupted(dice: random.Random, folder: Path, whole: dict[str, str]) -> str:
    (folder / "worker-0").mkdir(parents=True)
    for name, text in whole.items():
        if name != "stop.json" or dice.random() < 0.3:
            (folder / name).write_text(text)
    name = dice.choice(list(whole))
    content = corrupted_bytes(dice, whole[name].encode(), whole[dice.choice(list(whole))].encode())
    (folder / name).write_bytes(content)
    return f"{name}: {content[:500]!r}"
