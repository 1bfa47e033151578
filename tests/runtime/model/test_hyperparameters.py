# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters of the training loop: what means nothing is refused; schedules, goals and images are pure."""

from __future__ import annotations

import pytest
import torch

from mlhub.runtime.data import augmentation
from mlhub.runtime.data.augmentation_options import check_augment
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.contract import default_optimizer
from mlhub.runtime.model.hyperparameters import Settings, check_declared, read_settings
from mlhub.runtime.optimization.learning_rates import LearningRates, LearningRateScheduler
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.trainer.metric_monitor import MetricMonitor


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"learning_rate": "0.1"}, "learning_rate"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"momentum": 1.5}, "momentum"),
        ({"weight_decay": -1}, "weight_decay"),
        ({"lr_schedule": "zigzag"}, "lr_schedule"),
        ({"lr_schedule": "step"}, "lr_schedule"),
        ({"lr_decay_steps": 0}, "lr_decay_steps"),
        ({"lr_decay": 0}, "lr_decay"),
        ({"max_batch_size": 1.5}, "max_batch_size"),
        ({"learning_rate_scaling": "cubic"}, "learning_rate_scaling"),
        ({"compile": 1}, "compile"),
        ({"memory_format": "rows"}, "memory_format"),
        ({"warmup_steps": 2.5}, "warmup_steps"),
        ({"warmup_steps": True}, "warmup_steps"),
        ({"warmup_from": 1.5}, "warmup_from"),
        ({"final_learning_rate": 2}, "final_learning_rate"),
        ({"clip_norm": 0}, "clip_norm"),
        ({"accumulation_steps": 0}, "accumulation_steps"),
        ({"precision": "float8"}, "precision"),
        ({"augment": ["flip", "explode"]}, "augment"),
        ({"augment": 3}, "augment"),
        ({"patience": 3}, "patience"),
        ({"stop_at_target": True}, "stop_at_target"),
        ({"stop_at_target": "yes"}, "stop_at_target"),
    ],
)
def test_what_means_nothing_is_refused_with_its_name(given: dict[str, object], field: str) -> None:
    with pytest.raises(BadInputError) as refused:
        read_settings(given, target_metric=None, target_value=None)
    assert refused.value.field == f"hyperparameters.{field}"
    assert refused.value.remedy


def test_the_models_own_hyperparameters_are_let_through() -> None:
    assert read_settings({"width": 64}, target_metric=None, target_value=None) == Settings()
    check_declared({"anything": object()}, {})
    check_declared({"width": 32, "dropout": 1, "optimizer": "sgd"}, {"width": 64, "dropout": 0.1})


@pytest.mark.parametrize("given", [{"widht": 32}, {"width": "32"}, {"width": 3.5}, {"width": True}, {"bias": 1}])
def test_what_the_model_has_declared_is_checked(given: dict[str, object]) -> None:
    with pytest.raises(BadInputError) as refused:
        check_declared(given, {"width": 64, "bias": False})
    assert refused.value.field == f"hyperparameters.{next(iter(given))}"


def test_rates_warm_up_and_come_down() -> None:
    assert [LearningRates(10).factor(s) for s in (0, 9)] == [1.0, 1.0]
    linear = LearningRates(12, "linear", warmup_steps=2, final=0.1)
    assert [round(linear.factor(s), 3) for s in (0, 1, 2, 7, 12)] == [0.333, 0.667, 1.0, 0.55, 0.1]
    ramp = LearningRates(10, warmup_steps=4, warmup_from=0.2)
    assert [round(ramp.factor(s), 3) for s in (0, 1, 3, 4, 9)] == [0.36, 0.52, 0.84, 1.0, 1.0]
    step = LearningRates(10, "step", decay_every=4, decay=0.5)
    assert [step.factor(s) for s in (0, 3, 4, 8)] == [1.0, 1.0, 0.5, 0.25]
    cycle = LearningRates(100, "one_cycle", final=0.01)
    factors = [cycle.factor(s) for s in range(101)]
    assert max(factors) == factors[30] == 1.0
    assert factors[:31] == sorted(factors[:31])
    assert factors[30:] == sorted(factors[30:], reverse=True)
    assert (factors[0], factors[100]) == (pytest.approx(1 / 25, abs=0.01), pytest.approx(0.01))
    cosine = LearningRates(10, "cosine")
    assert cosine.factor(0) == 1.0
    assert cosine.factor(5) == pytest.approx(0.5)
    assert cosine.factor(99) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("name", "kind"), [("adagrad", "Adagrad"), ("rmsprop", "RMSprop"), ("sgd", "SGD"), ("adam", "Adam"), ("", "AdamW")]
)
def test_an_optimiser_is_chosen_by_name_and_fits_servers(name: str, kind: str) -> None:
    model = torch.nn.Linear(2, 2)
    given = {"optimizer": name, "learning_rate": 0.5} if name else {"learning_rate": 0.5}
    made = default_optimizer(model, given)
    assert (type(made).__name__, made.param_groups[0]["lr"]) == (kind, 0.5)
    (plan,) = plan_shards(list(model.named_parameters()), made, n_shards=1, n_workers=1, resume_from=None)
    assert plan.optimizer == kind


def test_every_group_keeps_its_own_rate() -> None:
    groups = [{"lr": 1.0}, {"lr": 0.1}]
    scheduled = LearningRateScheduler(groups, LearningRates(10, "linear"))
    scheduled.set(5)
    scheduled.set(5)
    assert [g["lr"] for g in groups] == [0.5, 0.05]


def test_training_ends_at_the_target_or_without_progress() -> None:
    def reason(monitor: MetricMonitor, metrics: dict[str, float]) -> str | None:
        monitor.observe(1, metrics)
        return monitor.reason_to_stop(metrics)

    goal = MetricMonitor(Settings(stop_at_target=True), metric="eval/accuracy", value=0.9)
    assert reason(goal, {"eval/accuracy": 0.89}) is None
    assert "reached" in (reason(goal, {"eval/accuracy": 0.9}) or "")
    goal = MetricMonitor(Settings(patience=2), metric="eval/loss", value=None)
    reasons = [reason(goal, {"eval/loss": loss}) for loss in (3.0, 2.0, 2.5, 1.9, 1.9, 2.0)]
    assert reasons[:5] == [None] * 5
    assert "not improved on 1.9" in (reasons[5] or "")
    assert reason(MetricMonitor(Settings(), metric="eval/loss", value=1.0), {"eval/loss": 0.1}) is None


def images() -> torch.Tensor:
    return torch.arange(3 * 2 * 8 * 8, dtype=torch.float32).reshape(3, 2, 8, 8) / 400


@pytest.mark.parametrize("kind", ["flip", "translate", "rotate", "noise"])
def test_images_are_made_anew_and_the_same_for_the_same_seed(kind: str) -> None:
    first, again, other = (
        augmentation.augmented(images(), [kind], torch.Generator().manual_seed(seed)) for seed in (2, 2, 3)
    )
    assert first.shape == images().shape
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, images())


def test_a_mirrored_image_is_the_image_or_its_mirror() -> None:
    made = augmentation.augmented(images(), ["flip"], torch.Generator().manual_seed(0))
    for before, after in zip(images(), made, strict=True):
        is_same = torch.allclose(before, after, atol=1e-5)
        assert is_same or torch.allclose(before.flip(-1), after, atol=1e-5)


def test_only_images_can_be_augmented() -> None:
    check_augment(["flip"], {"input_shape": [3, 8, 8]})
    check_augment([], {"input_shape": [64]})
    with pytest.raises(BadInputError):
        check_augment(["flip"], {"input_shape": [64]})


def test_a_rate_for_a_grown_batch_multiplies_the_schedule() -> None:
    groups = [{"lr": 0.2}]
    scheduler = LearningRateScheduler(groups, LearningRates(10))
    scheduler.set(0)
    scheduler.scale = 1.5
    scheduler.set(1)
    assert groups[0]["lr"] == pytest.approx(0.3)
    scheduler.scale = 1.0
    scheduler.set(2)
    assert groups[0]["lr"] == pytest.approx(0.2)
