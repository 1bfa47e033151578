# SPDX-License-Identifier: Apache-2.0
"""The hyperparameters that the training loop itself reads: typed, bounded, with defaults. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mlhub.runtime.data.augmentation_options import AUGMENTATIONS
from mlhub.runtime.data.validation_options import VALIDATION_NAMES
from mlhub.runtime.model.class_options import SAMPLINGS, ClassWeights, read_class_weights
from mlhub.runtime.model.requested_metrics import read_metrics
from mlhub.runtime.optimization.learning_rates import SCHEDULES, LearningRates
from mlhub.runtime.option_values import Values, choice, flag, invalid, number, one_of, whole

OPTIMIZERS = ("adamw", "adam", "sgd", "adagrad", "rmsprop", "ftrl")
PRECISIONS = ("float32", "bfloat16", "float16")
LEARNING_RATE_SCALINGS = ("auto", "adascale", "square_root", "none")
WEIGHT_DECAY_ON = ("all", "matrices")  # matrices: not biases, nor the scales of normalisation layers
MAX_KEPT = 100
MEMORY_FORMATS = ("contiguous", "channels_last")
NAMES = (
    "optimizer", "learning_rate", "weight_decay", "momentum", "lr_schedule", "warmup_steps", "warmup_from",
    "final_learning_rate", "clip_norm", "accumulation_steps", "precision", "augment", "patience", "stop_at_target",
    "standardise", "l1", "evaluate_first", "evaluate_only", "compile", "memory_format",
    "max_batch_size", "learning_rate_scaling", "lr_decay_steps", "lr_decay", "metrics", *VALIDATION_NAMES,
    "class_weights", "label_smoothing", "sampling", "ema_decay", "lr_patience", "weight_decay_on",
    "sync_batch_norm",
    "monitor", "monitor_mode", "keep_best", "keep_checkpoints",
)  # fmt: skip
MOVED = {
    "memory_gib": "resources.memory_gib",
    "n_servers": "resources.n_servers",
    "server_memory_gib": "resources.server_memory_gib",
    "stall_limit_s": "limits.stall_s",
}  # hyperparameters until they became fields of the job of their own


@dataclass(frozen=True)
class Settings:
    """Holds the settings of the training loop.

    lr_schedule, warmup_steps, warmup_from, final_learning_rate: of learning_rates.py; the last two are parts of the
    rate. clip_norm: a gradient with a larger norm is scaled down to it. accumulation_steps: micro-batches of a worker's
    part of the batch. patience: evaluations without an improvement of the target metric before training ends early;
    0: never. stop_at_target: end as soon as the target is reached. standardise: numbers come with mean 0 and deviation
    1. evaluate_first: before the first step too; None: of models made elsewhere. evaluate_only: and no step is made.
    compile: by torch.compile. memory_format: of images and of the weights of convolutions. max_batch_size: the
    batch may grow up to it; None: it is fixed. learning_rate_scaling: how the rate grows with it (batch_adaptation.py).
    metrics: of the whole evaluation set (requested_metrics.py); None: the defaults of the task.
    class_weights, sampling: of class_options.py. ema_decay: of a moving average of the weights. lr_patience: how many
    evaluations without an improvement the schedule plateau bears. weight_decay_on: WEIGHT_DECAY_ON. sync_batch_norm:
    batch normalisation by the examples of all workers (batch_norm.py). monitor: the
    metric by which the best weights are selected, early stopping and plateaus judge; monitor_mode: min or max; None: by
    its name. keep_best, keep_checkpoints: how many of the best weights and of the newest checkpoints stay on the disk.
    """

    lr_schedule: str = "constant"
    warmup_steps: int = 0
    warmup_from: float = 0.0
    final_learning_rate: float = 0.0
    clip_norm: float | None = None
    accumulation_steps: int = 1
    precision: str = "float32"
    augment: tuple[str, ...] = ()
    patience: int = 0
    stop_at_target: bool = False
    standardise: bool = True
    evaluate_first: bool | None = None
    evaluate_only: bool = False
    compile: bool = False
    memory_format: str = "contiguous"
    max_batch_size: int | None = None
    learning_rate_scaling: str = "auto"
    lr_decay_steps: int = 0
    lr_decay: float = 0.1
    metrics: tuple[str, ...] | None = None
    class_weights: ClassWeights = None
    label_smoothing: float = 0.0
    sampling: str = "uniform"
    ema_decay: float | None = None
    lr_patience: int = 2
    weight_decay_on: str = "all"
    sync_batch_norm: bool = False
    monitor: str | None = None
    monitor_mode: str | None = None
    keep_best: int = 1
    keep_checkpoints: int = 2

    def rates(self, steps: int) -> LearningRates:
        return LearningRates(
            steps, self.lr_schedule, self.warmup_steps, self.final_learning_rate, self.warmup_from,
            self.lr_decay_steps, self.lr_decay,
        )  # fmt: skip


def read_settings(hyperparameters: Values, *, target_metric: str | None, target_value: float | None) -> Settings:
    """Other hyperparameters are the model's own. Raises BadInputError (field "hyperparameters.<name>")."""
    # these belong to the optimiser; values that no optimiser accepts are refused here
    number(hyperparameters, "learning_rate", above=0.0)
    number(hyperparameters, "weight_decay", least=0.0)
    number(hyperparameters, "momentum", least=0.0, most=1.0)
    number(hyperparameters, "l1", least=0.0)
    settings = Settings(
        lr_schedule=choice(hyperparameters, "lr_schedule", SCHEDULES, "constant"),
        warmup_steps=int(number(hyperparameters, "warmup_steps", least=0, is_whole=True) or 0),
        warmup_from=number(hyperparameters, "warmup_from", least=0.0, most=1.0) or 0.0,
        final_learning_rate=number(hyperparameters, "final_learning_rate", least=0.0, most=1.0) or 0.0,
        clip_norm=number(hyperparameters, "clip_norm", above=0.0),
        accumulation_steps=int(number(hyperparameters, "accumulation_steps", least=1, is_whole=True) or 1),
        precision=choice(hyperparameters, "precision", PRECISIONS, "float32"),
        augment=_augmentations(hyperparameters.get("augment", [])),
        patience=int(number(hyperparameters, "patience", least=0, is_whole=True) or 0),
        stop_at_target=flag(hyperparameters, "stop_at_target"),
        standardise=flag(hyperparameters, "standardise", default=True),
        evaluate_first=flag(hyperparameters, "evaluate_first") if "evaluate_first" in hyperparameters else None,
        evaluate_only=flag(hyperparameters, "evaluate_only"),
        compile=flag(hyperparameters, "compile"),
        max_batch_size=whole(hyperparameters, "max_batch_size"),
        learning_rate_scaling=choice(hyperparameters, "learning_rate_scaling", LEARNING_RATE_SCALINGS, "auto"),
        lr_decay_steps=int(number(hyperparameters, "lr_decay_steps", least=1, is_whole=True) or 0),
        lr_decay=number(hyperparameters, "lr_decay", above=0.0, most=1.0) or 0.1,
        class_weights=read_class_weights(hyperparameters),
        label_smoothing=number(hyperparameters, "label_smoothing", least=0.0, below=1.0) or 0.0,
        sampling=choice(hyperparameters, "sampling", SAMPLINGS, "uniform"),
        ema_decay=number(hyperparameters, "ema_decay", above=0.0, below=1.0),
        lr_patience=2 if (waits := whole(hyperparameters, "lr_patience", least=0)) is None else waits,
        weight_decay_on=choice(hyperparameters, "weight_decay_on", WEIGHT_DECAY_ON, "all"),
        sync_batch_norm=flag(hyperparameters, "sync_batch_norm"),
        monitor=_metric_name(hyperparameters.get("monitor")),
        monitor_mode=_optional_choice(hyperparameters, "monitor_mode", ("min", "max")),
        keep_best=whole(hyperparameters, "keep_best", most=MAX_KEPT) or 1,
        keep_checkpoints=whole(hyperparameters, "keep_checkpoints", most=MAX_KEPT) or 2,
        metrics=read_metrics(hyperparameters.get("metrics")),
        memory_format=choice(hyperparameters, "memory_format", MEMORY_FORMATS, "contiguous"),
    )
    if settings.lr_schedule == "step" and not settings.lr_decay_steps:
        raise invalid("lr_schedule", "The schedule step does not say when the rate falls.", "Give lr_decay_steps.")
    if settings.sync_batch_norm and (settings.accumulation_steps > 1 or settings.max_batch_size is not None):
        raise invalid(
            "sync_batch_norm",
            "Workers that compute their part of a batch in several passes do not normalise them together.",
            "Leave out accumulation_steps and max_batch_size, or sync_batch_norm.",
        )
    if settings.patience and not target_metric and not settings.monitor:
        raise invalid("patience", "There is no metric that must improve.", "Name the job's target_metric, or monitor.")
    _check_monitoring(hyperparameters, settings)
    if settings.stop_at_target and (not target_metric or target_value is None):
        raise invalid("stop_at_target", "There is no target to stop at.", "Give target_metric and target_value.")
    return settings


def read_optimizer(hyperparameters: Values) -> str:
    """The name of one of MLHub's own optimisers; a package with build_optimizer has others. Raises BadInputError."""
    given = hyperparameters.get("optimizer", OPTIMIZERS[0])
    name = str(given).lower()
    if name not in OPTIMIZERS:
        remedy = f"{one_of(OPTIMIZERS, given)}; or define build_optimizer in your package."
        raise invalid("optimizer", f"The optimizer {given!r} is unknown.", remedy)
    return name


def _check_monitoring(hyperparameters: Values, settings: Settings) -> None:
    for name in ("monitor_mode", "keep_best"):
        if hyperparameters.get(name) is not None and not settings.monitor:
            raise invalid(name, "There is no metric by which weights are the best.", "Name it as monitor.")
    if hyperparameters.get("lr_patience") is not None and settings.lr_schedule != "plateau":
        raise invalid("lr_patience", "Only the schedule plateau waits.", "Leave it out, or give lr_schedule plateau.")
    if settings.lr_schedule == "plateau" and settings.max_batch_size is not None:
        raise invalid(
            "lr_schedule", "A batch that grows sets the rate itself.", "Leave max_batch_size out, or plateau."
        )


def _metric_name(value: Any) -> str | None:
    """The key of a metric: "f1_macro" becomes "eval/f1_macro"."""
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise invalid("monitor", f"monitor is {value!r}.", "Give the name of a metric, such as eval/accuracy.")
    return value if "/" in value else f"eval/{value}"


def _optional_choice(values: Values, name: str, choices: tuple[str, ...]) -> str | None:
    return None if values.get(name) is None else choice(values, name, choices, choices[0])


def check_declared(hyperparameters: Values, declared: Values) -> None:
    """declared: the model's own HYPERPARAMETERS, name -> default; a value must be of its default's kind.

    A model that declares nothing takes anything. Raises BadInputError.
    """
    if not declared:
        return
    for name, value in hyperparameters.items():
        if name in NAMES:
            continue
        if name not in declared:
            known = [*declared, *NAMES]
            near = get_close_matches(name, known, n=1)
            guess = f"Did you mean {near[0]}? " if near else ""
            remedy = f"Give the job's {MOVED[name]}." if name in MOVED else f"{guess}Known: {', '.join(known)}."
            raise invalid(name, f"The model has no hyperparameter {name}.", remedy)
        default = declared[name]
        kind = int | float if isinstance(default, float) else type(default)
        if default is not None and (
            not isinstance(value, kind) or isinstance(value, bool) != isinstance(default, bool)
        ):
            raise invalid(name, f"{name} is {value!r}.", f"Give a value like {default!r}.")


def moved_hints(names: Iterable[str]) -> list[str]:
    """Returns a sentence for each hyperparameter that has the name of a former setting of the platform.

    A model or a script may have a hyperparameter of that name; then it changes nothing about the job's pods.
    """
    return [
        f"{name} is now {MOVED[name]}: as a hyperparameter it reaches the model's code only."
        for name in MOVED
        if name in set(names)
    ]


def _augmentations(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else [value]
    for name in names:
        if name not in AUGMENTATIONS:
            raise invalid("augment", f"There is no augmentation {name!r}.", f"A list of {', '.join(AUGMENTATIONS)}.")
    return tuple(names)
