# SPDX-License-Identifier: Apache-2.0
"""Class weights, averages, plateaus and the selection of the best weights: on any number of workers, and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mlhub.runtime.checkpoints.best_weights import best_of, keep_best, listed
from mlhub.runtime.checkpoints.step_folders import PIN
from mlhub.runtime.data.sampling import ClassBalance, Schedule
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.runtime.model.contract import default_optimizer
from mlhub.runtime.model.hyperparameters import Settings, read_settings
from mlhub.runtime.model.training_loss import class_weights, training_loss
from mlhub.runtime.trainer.metric_monitor import MetricMonitor
from mlhub.runtime.trainer.selection import BestSelection
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

BLOBS = {"task": "classification", "n_classes": 3, "classes": ["a", "b", "c"]}
EVERYTHING = {
    "optimizer": "adamw",
    "learning_rate": 0.02,
    "final_learning_rate": 0.1,
    "class_weights": {"1": 3},
    "label_smoothing": 0.1,
    "sampling": "balanced",
    "ema_decay": 0.9,
    "weight_decay": 0.1,
    "weight_decay_on": "matrices",
    "lr_schedule": "plateau",
    "lr_patience": 0,
    "lr_decay": 0.5,
    "monitor": "f1_macro",
    "monitor_mode": "min",  # the worst counts as the best, so that the rate falls
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=67)


def gang(folder: Path, data: Path, **hyperparameters: Any) -> Gang:
    return Gang(folder, data, training=TrainingSpec(epochs=4, batch_size=10, hyperparameters=hyperparameters))


def done(found: Gang) -> Gang:
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    return found


def curve(found: Gang, key: str) -> dict[int, float]:
    return {r["step"]: r["values"][key] for r in found.reports("metrics") if key in r["values"]}


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    ("epochs", "batch_size", "pause_after"),
    [(4, 1, 70), (110, 54, 20)],
    ids=["within an epoch", "after the last step of one, before its evaluation"],
)
def test_a_training_with_every_option_is_the_same_alone_together_and_resumed(
    epochs: int, batch_size: int, pause_after: int, tmp_path: Path, data: Path
) -> None:
    """Workers agree to leave within 50 steps: the training has more after the pause."""
    training = TrainingSpec(epochs=epochs, batch_size=batch_size, hyperparameters=EVERYTHING)
    alone = Gang(tmp_path / "alone", data, training=training)
    alone.start()
    done(alone)
    plain = Gang(tmp_path / "plain", data, training=replace(training, hyperparameters={"learning_rate": 0.02}))
    plain.start()
    done(plain)
    assert any(np.abs(alone.weights()[name] - value).max() > 1e-3 for name, value in plain.weights().items())
    assert min(curve(alone, "train/learning_rate_factor").values()) < 1.0

    cut = Gang(tmp_path / "cut", data, training=training)
    cut.start(n_workers=3, pause_after=pause_after)
    cut.leave_paused()
    assert set(cut.wait().values()) == {ExitCode.PREEMPTED}, cut.logs()
    before = curve(cut, "train/learning_rate_factor")
    cut.start(n_workers=2)
    done(cut)
    for name, value in alone.weights().items():
        np.testing.assert_allclose(cut.weights()[name], value, rtol=0, atol=2e-5, err_msg=name)
    factors = before | curve(cut, "train/learning_rate_factor")
    assert len(before) < len(factors)
    assert factors == curve(alone, "train/learning_rate_factor")
    assert cut.result()["metrics"] == pytest.approx(alone.result()["metrics"], abs=1e-5)


@pytest.mark.dist
@pytest.mark.parametrize("mode", [SyncMode.ALL_REDUCE, SyncMode.PARAMETER_SERVER])
def test_the_weights_of_the_best_evaluation_are_handed_in(mode: SyncMode, tmp_path: Path, data: Path) -> None:
    """The job takes the highest loss for the best: that of its first evaluation."""
    found = gang(tmp_path, data, optimizer="sgd", learning_rate=0.01, monitor="loss", monitor_mode="max", keep_best=2)
    found.start(mode, n_workers=2, n_servers=1 if mode is SyncMode.PARAMETER_SERVER else 0)
    done(found)
    losses = curve(found, "eval/loss")
    step = max(losses, key=lambda at: losses[at])
    assert step == 6, "of four epochs of six steps, the first is the worst"
    assert found.result()["metrics"]["eval/loss"] == losses[step]
    metadata = json.loads((found.work() / "artifacts" / "metadata.json").read_text())
    assert (metadata["selected_step"], metadata["steps"]) == (6, 24)
    kept = listed(tmp_path / "checkpoints")
    assert [best.step for best in kept] == [6, 12]
    reports = [r for r in found.reports("checkpoint") if r["name"].startswith("best-")]
    assert {r["step"]: r["metrics"]["eval/loss"] for r in reports} == {at: losses[at] for at in (6, 12)}


def test_a_monitor_continues_from_its_state() -> None:
    settings = Settings(lr_schedule="plateau", lr_patience=1, lr_decay=0.1, patience=4, monitor="eval/loss")
    losses = [3.0, 2.0, 2.5, 2.1, 2.2, 2.0]
    whole = MetricMonitor(settings, metric=None, value=None)
    for cut in range(len(losses)):
        whole, resumed = (MetricMonitor(settings, metric=None, value=None) for _ in range(2))
        for step, loss in enumerate(losses):
            if step == cut:
                resumed.restore(json.loads(json.dumps(whole.state())))
            whole.observe(step, {"eval/loss": loss})
            if step >= cut:
                resumed.observe(step, {"eval/loss": loss})
        assert resumed.state() == whole.state()
    assert whole.rate_factor == pytest.approx(0.01)
    assert "not improved on 2 in 4" in (whole.reason_to_stop({"eval/loss": 2.0}) or "")


def test_of_the_best_weights_as_many_are_kept_as_asked_and_pinned_ones_stay(tmp_path: Path) -> None:
    def consider(step: int, value: float) -> bool:
        kept = keep_best(
            tmp_path, {"w": torch.tensor([value])}, attempt=1, step=step, value=value, metrics={"eval/auc": value},
            is_minimised=False, n_kept=2,
        )  # fmt: skip
        return kept is not None

    assert [consider(step, value) for step, value in ((1, 0.5), (2, 0.7))] == [True, True]
    (listed(tmp_path)[0].folder / PIN).touch()
    assert [consider(3, 0.6), consider(4, 0.4), consider(5, 0.7)] == [True, False, True]
    assert [best.step for best in listed(tmp_path)] == [1, 2, 5]
    best = best_of(tmp_path, is_minimised=False)
    assert best is not None
    assert best.step == 2, "of equal values the earlier"


def test_a_weighted_loss_of_parts_adds_up_to_that_of_the_whole() -> None:
    targets = np.repeat([0, 1, 2], [50, 40, 10])
    np.testing.assert_allclose(class_weights("balanced", targets, BLOBS), [100 / 150, 100 / 120, 100 / 30])
    given = class_weights({"c": 4.0}, targets, BLOBS)
    assert given[2] / given[0] == pytest.approx(4.0)
    assert given[targets].mean() == pytest.approx(1.0)
    loss = training_loss(
        torch.nn.functional.cross_entropy, "balanced", 0.1, facts=BLOBS, is_own=False, targets=lambda: targets
    )
    outputs, wanted = torch.randn(12, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2] * 4)
    parts = loss(outputs[:5], wanted[:5]) * 5 / 12 + loss(outputs[5:], wanted[5:]) * 7 / 12
    assert float(parts) == pytest.approx(float(loss(outputs, wanted)), rel=1e-6)


def test_balanced_sampling_makes_every_class_equally_frequent() -> None:
    classes = np.repeat([0, 1, 2], [80, 15, 4])
    schedule = Schedule(99, 10, 2, seed=1, balance=ClassBalance(classes))
    epochs = [np.concatenate([schedule.batch(epoch * 10 + step) for step in range(10)]) for epoch in (0, 1)]
    for epoch in epochs:
        assert np.bincount(classes[epoch]).tolist() == [33, 33, 33]
        counts = np.bincount(epoch, minlength=99)
        assert set(counts[classes == 2]) <= {8, 9}
        assert counts[classes == 0].max() == 1
    assert epochs[0].tolist() != epochs[1].tolist()


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "ftrl"])
def test_biases_and_scales_do_not_decay_where_matrices_alone_do(optimizer: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3))
    made = default_optimizer(model, {"optimizer": optimizer, "weight_decay": 0.5, "weight_decay_on": "matrices"})
    name = "l2" if optimizer == "ftrl" else "weight_decay"
    decays = {id(p): group[name] for group in made.param_groups for p in group["params"]}
    assert [decays[id(p)] for p in model.parameters()] == [0.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("hyperparameters", "field"),
    [
        ({"class_weights": {"z": 2}}, "class_weights"),
        ({"class_weights": [1, 2]}, "class_weights"),
        ({"class_weights": [1, 2, -1]}, "class_weights"),
        ({"label_smoothing": 1.0}, "label_smoothing"),
        ({"monitor": "f2"}, "monitor"),
        ({"monitor_mode": "max"}, "monitor_mode"),
        ({"keep_best": 3}, "keep_best"),
        ({"lr_patience": 3}, "lr_patience"),
        ({"lr_schedule": "plateau", "max_batch_size": 20}, "lr_schedule"),
        ({"sampling": "weighted"}, "sampling"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(
    hyperparameters: dict[str, Any], field: str, tmp_path: Path, data: Path
) -> None:
    spec = gang(tmp_path, data, **hyperparameters).spec()
    with pytest.raises(BadInputError) as refused:
        try_out(spec, {"data": data}, code=tmp_path / "code")
    assert refused.value.field == f"hyperparameters.{field}"
    assert refused.value.remedy


@pytest.mark.parametrize("given", [{"ema_decay": 0.99}, {"lr_schedule": "plateau"}])
def test_options_of_all_reduce_leave_only_it_to_choose(given: dict[str, Any], tmp_path: Path, data: Path) -> None:
    alone = gang(tmp_path / "a", data, **given)
    assert not try_out(alone.spec(), {"data": data}, code=tmp_path / "code")["servers_possible"]
    alone.training = replace(alone.training, strategy={"name": "asp"})
    with pytest.raises(BadInputError, match="The strategy asp"):
        try_out(alone.spec(), {"data": data}, code=tmp_path / "code")


@pytest.mark.parametrize("given", [{"ema_decay": 0.99}, {"lr_schedule": "plateau"}, {"precision": "float16"}])
def test_options_of_all_reduce_are_refused_where_the_job_asks_for_servers(
    given: dict[str, Any], tmp_path: Path, data: Path
) -> None:
    on_servers = gang(tmp_path / "a", data, **given).spec(SyncMode.PARAMETER_SERVER, n_servers=1)
    with pytest.raises(BadInputError, match="The mode parameter_server") as refused:
        try_out(on_servers, {"data": data}, code=tmp_path / "code")
    assert refused.value.field == f"hyperparameters.{next(iter(given))}"
    try_out(replace(on_servers, mode=SyncMode.ALL_REDUCE), {"data": data}, code=tmp_path / "code")


def test_class_options_of_a_regression_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "prices.npz", x=np.random.default_rng(0).normal(0, 1, (40, 3)), y=np.linspace(0, 1, 40))
    for given in ({"class_weights": "balanced"}, {"sampling": "balanced"}, {"label_smoothing": 0.1}):
        spec = gang(tmp_path, tmp_path / "prices.npz", **given).spec()
        with pytest.raises(BadInputError) as refused:
            try_out(spec, {"data": tmp_path / "prices.npz"}, code=tmp_path / "code")
        assert refused.value.field == f"hyperparameters.{next(iter(given))}"


def test_early_stopping_may_watch_the_monitored_metric() -> None:
    assert read_settings({"patience": 2, "monitor": "auc"}, target_metric=None, target_value=None).monitor == "eval/auc"


def test_the_best_weights_are_reported_with_fifty_metrics_the_monitored_one_among_them(tmp_path: Path) -> None:
    sent: list[Any] = []
    settings = read_settings({"monitor": "accuracy"}, target_metric=None, target_value=None)
    pod: Any = SimpleNamespace(spec=SimpleNamespace(index=0, attempt_number=1), checkpoints=tmp_path)
    strategy: Any = SimpleNamespace(extra_weights=dict)
    selection = BestSelection(pod, SimpleNamespace(send=sent.append), settings)  # type: ignore[arg-type]
    metrics = {"recall/none": float("nan")} | {f"recall/{i}": 0.5 for i in range(80)} | {settings.monitor or "": 0.9}
    selection.consider(torch.nn.Linear(2, 1), strategy, step=3, metrics=metrics)
    (report,) = sent
    assert len(report.metrics) == 50
    assert report.metrics[settings.monitor] == 0.9
    assert "recall/none" not in report.metrics  # the platform takes no report of what is no number
