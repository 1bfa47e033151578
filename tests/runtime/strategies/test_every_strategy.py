# SPDX-License-Identifier: Apache-2.0
"""Every strategy trains a model with real processes; those that are descent in a limit equal it there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlhub.runtime.strategies.catalogue.schema import AUTO, STRATEGIES, parse
from mlhub.runtime.strategies.registry import implementation_of
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs
from tests.runtime.processes import PROGRESS_EVERY_S

pytestmark = pytest.mark.dist
OFTEN = {PROGRESS_EVERY_S: "0.05"}
TRAINING = TrainingSpec(epochs=6, batch_size=10, hyperparameters={"optimizer": "sgd", "learning_rate": 0.05})


def run(folder: Path, data: Path, training: TrainingSpec, *, n_workers: int, n_servers: int = 1) -> Gang:
    gang = Gang(folder, data, training=training)
    mode = parse(training.strategy).mode or SyncMode.ALL_REDUCE
    gang.start(mode, n_workers=n_workers, n_servers=n_servers if mode is SyncMode.PARAMETER_SERVER else 0)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    return gang


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=120)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Gang:
    """One process, whose optimiser has no momentum: averages of its steps are steps of averages."""
    return run(tmp_path_factory.mktemp("alone"), data, without_momentum({}), n_workers=1)


def without_momentum(strategy: dict[str, object]) -> TrainingSpec:
    return replace(TRAINING, strategy=strategy, hyperparameters={**TRAINING.hyperparameters, "momentum": 0.0})


@pytest.mark.parametrize("name", sorted(set(STRATEGIES) - {AUTO}))
def test_every_declared_implementation_has_the_loops_interface(name: str) -> None:
    kind = implementation_of(name)
    assert all(hasattr(kind, method) for method in ("prepare", "next", "step", "sum_over_workers", "save_optimizer"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in STRATEGIES if n not in (AUTO, "all_reduce", "bsp", "sparse_rows")])
def test_every_strategy_learns(name: str, tmp_path: Path, data: Path) -> None:
    gang = run(tmp_path, data, replace(TRAINING, strategy={"name": name}), n_workers=STRATEGIES[name].max_workers or 2)
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9, gang.logs()
    assert gang.result()["steps"] == gang.reports("progress")[0]["steps_total"]
    assert [r for r in gang.reports("metrics") if "eval/accuracy" in r["values"]][-1]["epoch"] == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "n_workers"),
    [
        ({"name": "asp"}, 1),
        ({"name": "ssp", "staleness": 0}, 1),
        ({"name": "downpour"}, 1),
        ({"name": "bounded-delay", "tau": 0}, 1),
        ({"name": "dc-asgd", "lambda": 2.0}, 1),
        ({"name": "softsync", "group": 2, "block": True}, 2),
        ({"name": "k_of_n", "k": 2}, 2),
        ({"name": "model_averaging", "period": 1}, 2),
        ({"name": "model_averaging", "period": 7, "warmup_steps": 1000}, 2),
        ({"name": "block_momentum", "period": 7, "warmup_steps": 1000}, 2),
        ({"name": "elastic_averaging", "period": 2, "warmup_steps": 1000}, 2),
        ({"name": "asp", "warmup_steps": 1000}, 3),
        ({"name": "ssp", "warmup_steps": 1000}, 2),
        ({"name": "softsync", "group": 2, "warmup_steps": 1000}, 3),
        ({"name": "all_reduce", "compression": "one_bit", "plain_steps": 1000}, 2),
        ({"name": "block_momentum", "period": 1, "momentum": 0.0}, 2),
        ({"name": "gossip", "topology": "complete"}, 1),
        ({"name": "main_worker"}, 3),
    ],
    ids=lambda s: "-".join(str(v) for v in s.values()) if isinstance(s, dict) else str(s),
)
def test_in_the_limit_it_is_the_training_of_one_process(
    strategy: dict[str, object], n_workers: int, tmp_path: Path, data: Path, alone: Gang
) -> None:
    gang = run(tmp_path, data, without_momentum(strategy), n_workers=n_workers)
    for name, value in alone.weights().items():
        np.testing.assert_allclose(gang.weights()[name], value, rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asp", "ssp", "easgd", "bounded_delay"])
def test_a_gang_goes_on_without_a_worker_that_was_killed(name: str, tmp_path: Path) -> None:
    training = TrainingSpec(epochs=5, batch_size=4, strategy={"name": name})
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400), training=training, environment=OFTEN)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=3, n_servers=1)
    gang.wait_for_step(20)
    gang.processes["worker-2"].kill()
    codes = gang.wait(seconds=150)
    assert codes.pop("worker-2") == -9
    assert set(codes.values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["steps"] == 5 * 80
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9


@pytest.mark.slow
def test_a_worker_that_comes_back_takes_part_again(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=24, batch_size=4, strategy={"name": "ssp"})
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400), training=training, environment=OFTEN)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    gang.wait_for_step(20)
    gang.processes["worker-1"].kill()
    gang.processes["worker-1"].wait(120)
    again = gang.start_again("worker-1")
    codes = gang.wait(seconds=150)
    assert codes.pop("worker-1") == -9
    assert codes[again] == ExitCode.DONE, gang.logs()
    assert set(codes.values()) == {ExitCode.DONE}, gang.logs()
    assert gang.result()["steps"] == 24 * 80


@pytest.mark.slow
@pytest.mark.parametrize(("name", "killed"), [("asp", "server-0"), ("asp", "worker-0"), ("bsp", "server-1")])
def test_the_death_of_a_servers_pod_or_of_the_reporter_ends_the_gang_and_the_next_resumes(
    name: str, killed: str, tmp_path: Path
) -> None:
    training = TrainingSpec(epochs=60, batch_size=8, checkpoint_every_s=0.2, strategy={"name": name})
    blobs = write_blobs(tmp_path / "blobs.npz", n=400)
    gang = Gang(tmp_path, blobs, training=training, start_timeout_s=15)  # so long asp waits for a server, too
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    gang.wait_for(lambda: bool(gang.reports("checkpoint")))
    gang.processes[killed].kill()
    codes = gang.wait(seconds=150)
    assert codes.pop(killed) == -9
    assert set(codes.values()) == {ExitCode.PEER_LOST}, gang.logs()
    saved = gang.reports("checkpoint")[-1]["step"]
    gang.training = replace(training, epochs=saved // 40 + 2)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=1)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    resumed = next(r for r in gang.reports("phase") if r["phase"] == "resumed")
    assert resumed["detail"]["step"] > 0


@pytest.mark.slow
def test_after_a_warm_up_by_one_worker_the_strategy_begins(tmp_path: Path, data: Path, alone: Gang) -> None:
    warm = {"name": "block_momentum", "period": 5, "warmup_steps": 30}
    found = run(tmp_path / "blocks", data, without_momentum(warm), n_workers=2)
    differences = [np.abs(found.weights()[name] - value).max() for name, value in alone.weights().items()]
    assert max(differences) > 1e-4
    own_pace = {"name": "ssp", "staleness": 1, "warmup_steps": 20}
    found = run(tmp_path / "ssp", data, replace(TRAINING, strategy=own_pace), n_workers=3)
    assert found.result()["steps"] == found.reports("progress")[0]["steps_total"]
    assert found.result()["metrics"]["eval/accuracy"] > 0.9


@pytest.mark.slow
def test_an_optimiser_without_state_resumes_too(tmp_path: Path) -> None:
    training = replace(without_momentum({"name": "bsp"}), epochs=2)
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400), training=training)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=1, pause_after=10)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()


@pytest.mark.slow
def test_a_preempted_asynchronous_training_resumes_at_its_step(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=4, batch_size=8, strategy={"name": "asp"})
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400), training=training)
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=3, n_servers=2, pause_after=20)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    (saved,) = gang.reports("checkpoint")
    gang.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=1)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    resumed = next(r for r in gang.reports("phase") if r["phase"] == "resumed")
    assert resumed["detail"]["step"] == saved["step"] > 0
    assert gang.result()["steps"] == 4 * 40


@pytest.mark.parametrize(
    ("strategy", "mode", "complaint"),
    [
        ({"name": "ssp"}, SyncMode.ALL_REDUCE, "runs on parameter_server"),
        ({"name": "k_of_n", "k": 3}, SyncMode.PARAMETER_SERVER, "k is 3, and there are 1 workers"),
    ],
)
def test_a_gang_that_was_not_made_for_its_strategy_says_so(
    strategy: dict[str, object], mode: SyncMode, complaint: str, tmp_path: Path, data: Path
) -> None:
    gang = Gang(tmp_path, data, training=replace(TRAINING, strategy=strategy))
    gang.start(mode, n_workers=1)
    assert gang.wait() == {"worker-0": ExitCode.USER_CODE}
    assert complaint in gang.reports("failure")[0]["message"]
