# SPDX-License-Identifier: Apache-2.0
"""Batches that grow while a job trains: when, how far, in how many passes, and at what learning rate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.runtime.trainer.batch_adaptation import BatchAdapter, efficiency, learning_rate_factor
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import TrainingSpec
from tests.runtime.gang import Gang, write_blobs
from tests.runtime.processes import NOISE_SCALE


def adapter(most: int = 64) -> BatchAdapter:
    return BatchAdapter(batch_size=8, max_batch_size=most)


def lengths(found: BatchAdapter, *, overhead_s: float, batch_s: float, noise: float, n: int = 8) -> list[int]:
    chosen = []
    for _ in range(n):
        step_s = overhead_s + batch_s * found.current.length
        chosen.append(found.choose(step_s=step_s, noise_scale=noise, memory_share=0.1).length)
    return chosen


def test_steps_that_cost_much_each_grow_with_a_noisy_gradient_by_doubling() -> None:
    assert lengths(adapter(), overhead_s=1.0, batch_s=0.01, noise=10_000.0)[:5] == [2, 4, 8, 8, 8]


def test_a_gradient_without_noise_keeps_the_declared_batch() -> None:
    assert set(lengths(adapter(), overhead_s=1.0, batch_s=0.01, noise=0.5)) == {1}


def test_where_time_grows_with_the_batch_it_returns_to_what_is_faster() -> None:
    assert lengths(adapter(), overhead_s=0.0, batch_s=1.0, noise=100.0)[-1] == 1


def test_an_unknown_noise_scale_changes_nothing() -> None:
    assert adapter().choose(step_s=1.0, noise_scale=None, memory_share=0.1).length == 1


def test_a_batch_beyond_memory_is_computed_in_passes() -> None:
    found = adapter()
    choice = found.choose(step_s=1.0, noise_scale=1e6, memory_share=0.6)
    assert (choice.length, choice.passes) == (2, 2)
    choice = found.choose(step_s=1.0, noise_scale=1e6, memory_share=0.3)
    assert (choice.length, choice.passes) == (4, 2)
    assert "In 2 passes, by memory." in choice.reason


def test_a_largest_batch_below_twice_the_declared_one_is_never_used() -> None:
    assert set(lengths(adapter(15), overhead_s=1.0, batch_s=0.0, noise=1e6)) == {1}


def test_the_learning_rate_follows_the_rule() -> None:
    given = {"batch_size": 8, "noise_scale": 24.0}
    assert learning_rate_factor(4, **given, rule="square_root") == 2.0
    assert learning_rate_factor(4, **given, rule="none") == 1.0
    # AdaScale: (noise / batch + 1) / (noise / (4 batch) + 1)
    assert learning_rate_factor(4, **given, rule="adascale") == pytest.approx((24 / 8 + 1) / (24 / 32 + 1))
    assert efficiency(1, **given) == 1.0


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_training_grows_its_batch_without_a_restart(n_workers: int, tmp_path: Path) -> None:
    """The gradient is mostly noise, so larger batches cost little."""
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 6)).astype(np.float32)
    y = random.integers(0, 3, 120)
    np.savez(tmp_path / "noise.npz", x=x, y=y)
    given = {"optimizer": "sgd", "learning_rate": 0.01, "max_batch_size": 16}
    gang = Gang(tmp_path, tmp_path / "noise.npz", environment={NOISE_SCALE: "500.0"})
    gang.training = TrainingSpec(epochs=20, batch_size=4, hyperparameters=given)
    gang.start(n_workers=n_workers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    changes = [r["detail"] for r in gang.reports("phase") if r["phase"] == "batch_changed"]
    assert changes, gang.logs()
    assert (changes[0]["batch_size"], changes[0]["was"]) == (8, 4)
    assert max(change["batch_size"] for change in changes) <= 16
    assert all(change["step"] % 24 == 0 for change in changes), "between epochs only"
    assert 1.0 < changes[0]["learning_rate_factor"] <= 2.0
    assert "noise scale" in changes[0]["reason"]
    assert gang.result()["steps"] == 20 * 24, "steps are counted at the declared batch"
    plotted = [r["values"]["train/batch_size"] for r in gang.reports("metrics") if "train/batch_size" in r["values"]]
    assert plotted == [4.0, *(float(change["batch_size"]) for change in changes)]


@pytest.mark.dist
def test_two_workers_with_a_grown_batch_are_one_process(tmp_path: Path) -> None:
    """The examples of several declared batches are one batch, whoever computes which."""
    data = write_blobs(tmp_path / "blobs.npz", n=67)
    small = TrainingSpec(epochs=3, batch_size=10, hyperparameters={"optimizer": "sgd", "max_batch_size": 10})
    fixed = replace(small, hyperparameters={"optimizer": "sgd"})
    found = []
    for name, training, n_workers in (("fixed", fixed, 1), ("range of one", small, 2)):
        gang = Gang(tmp_path / name, data, training=training)
        gang.start(n_workers=n_workers)
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        found.append(gang.weights())
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    ("hyperparameters", "strategy", "problem"),
    [
        ({"max_batch_size": 20}, {"name": "ssp"}, "The strategy ssp keeps its batch"),
        ({"max_batch_size": 5}, {}, "is below the batch size"),
    ],
)
def test_ranges_that_cannot_be_used_are_refused(
    hyperparameters: dict[str, object], strategy: dict[str, object], problem: str, tmp_path: Path
) -> None:
    data = write_blobs(tmp_path / "blobs.npz")
    training = TrainingSpec(epochs=1, batch_size=10, hyperparameters=hyperparameters, strategy=strategy)
    with pytest.raises(BadInputError, match=problem):
        try_out(Gang(tmp_path, data, training=training).spec(), {"data": data}, code=tmp_path / "code")
