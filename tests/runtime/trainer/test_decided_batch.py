# SPDX-License-Identifier: Apache-2.0
"""A batch that the scheduler decides: followed between epochs without a restart, kept by a resumed training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import BatchDecision, PodSpec, TrainingSpec
from tests.runtime.gang import Gang, write_blobs
from tests.runtime.processes import DECISION

pytestmark = pytest.mark.dist
STEPS_PER_EPOCH = 6  # of 54 training examples out of 67, in batches of 10
NOT_SCALED = {"optimizer": "sgd", "learning_rate": 0.02, "max_batch_size": 40, "learning_rate_scaling": "none"}


def training(batch: BatchDecision | None, *, epochs: int = 4, **hyperparameters: Any) -> TrainingSpec:
    return TrainingSpec(epochs=epochs, batch_size=10, hyperparameters={**NOT_SCALED, **hyperparameters}, batch=batch)


def gang(folder: Path, spec: TrainingSpec, *, decision: dict[str, Any] | None = None) -> Gang:
    folder.mkdir()
    environment = {} if decision is None else {DECISION: json.dumps(decision)}
    return Gang(folder, write_blobs(folder / "blobs.npz", n=67), training=spec, environment=environment)


def trained(of: Gang, *, n_workers: int = 1) -> dict[str, Any]:
    of.start(n_workers=n_workers)
    assert set(of.wait().values()) == {ExitCode.DONE}, of.logs()
    assert of.result()["steps"] == of.training.epochs * STEPS_PER_EPOCH, "steps are counted in declared batches"
    return of.weights()


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=2e-5, err_msg=name)


def changes(of: Gang) -> list[dict[str, Any]]:
    return [r["detail"] for r in of.reports("phase") if r["phase"] == "batch_changed"]


def test_a_decided_batch_trains_as_a_fixed_one_of_that_size(tmp_path: Path) -> None:
    """The same examples a step, the same mean gradient: three steps an epoch of 20, 20 and 14 examples."""
    fixed = gang(tmp_path / "fixed", TrainingSpec(4, 20, {"optimizer": "sgd", "learning_rate": 0.02}))
    fixed.start()
    assert set(fixed.wait().values()) == {ExitCode.DONE}, fixed.logs()
    decided = gang(tmp_path / "decided", training(BatchDecision(20)))
    assert_same(trained(decided, n_workers=2), fixed.weights())
    plotted = [r["values"]["train/batch_size"] for r in decided.reports("metrics") if "train/batch_size" in r["values"]]
    assert plotted == [20.0]
    assert {r["batch_size"] for r in decided.reports("progress")} == {20}


def test_a_decision_that_comes_within_an_epoch_is_followed_at_its_end_by_all_workers(tmp_path: Path) -> None:
    decision = {"after": 2, "batch_size": 20, "noise_scale": 30.0, "reason": "It is noisy."}
    one = gang(tmp_path / "one", training(BatchDecision(10), learning_rate_scaling="auto"), decision=decision)
    two = gang(tmp_path / "two", training(BatchDecision(10), learning_rate_scaling="auto"), decision=decision)
    assert_same(trained(two, n_workers=2), trained(one))
    # AdaScale, as for every SGD: (30 / 10 + 1) / (30 / 20 + 1)
    change = {"step": STEPS_PER_EPOCH, "was": 10, "batch_size": 20, "learning_rate_factor": 1.6}
    (found,) = changes(two)
    assert found == {**change, "learning_rate_factor": pytest.approx(1.6), "reason": found["reason"]}
    assert found["reason"].startswith("It is noisy.")


@pytest.mark.slow
def test_a_resumed_training_keeps_its_batch_and_ends_as_if_never_interrupted(tmp_path: Path) -> None:
    decision = {"after": 2, "batch_size": 20, "noise_scale": 30.0, "reason": "It is noisy."}
    straight = trained(gang(tmp_path / "straight", training(BatchDecision(10), epochs=30), decision=decision))
    stopped = gang(tmp_path / "stopped", training(BatchDecision(10), epochs=30), decision=decision)
    stopped.start(pause_after=STEPS_PER_EPOCH + 4)
    stopped.leave_paused()
    assert set(stopped.wait().values()) == {ExitCode.PREEMPTED}, stopped.logs()
    stopped.environment = {}
    stopped.training = training(BatchDecision(20, 30.0), epochs=30)
    assert_same(trained(stopped), straight)


def test_a_decision_beyond_the_range_is_cut_to_it(tmp_path: Path) -> None:
    found = gang(tmp_path / "far", training(BatchDecision(10_000)))
    trained(found)
    assert {r["batch_size"] for r in found.reports("progress")} == {40}


def test_the_decision_travels_with_the_specification_and_an_impossible_one_is_refused(tmp_path: Path) -> None:
    spec = gang(tmp_path / "spec", training(BatchDecision(20, 30.0, "Why."))).spec()
    assert PodSpec.from_json(spec.to_json()) == spec
    for raw in ({"batch_size": 0}, {"batch_size": 8, "noise_scale": -1.0}, {"batch_size": True}, [8]):
        with pytest.raises(ValueError, match=r"batch|noise_scale"):
            BatchDecision.from_json(raw)
