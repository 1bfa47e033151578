# SPDX-License-Identifier: Apache-2.0
"""Settings of a training that do not go together: with its strategy, with its batch, with its data."""

from __future__ import annotations

from mlhub.runtime.data.readers import Split
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.wire.launch import SyncMode, TrainingSpec

NOT_COMPILED = ("pipeline", "tensor", "hybrid", "fully_sharded", "sparse_rows", "sufficient_factor_broadcasting")
ON_ALL_REDUCE = ("auto", "all_reduce")
BFLOAT16 = "Give bfloat16, which needs no scaling"


def check_settings(settings: Settings, strategy: StrategySpec, training: TrainingSpec, *, mode: SyncMode) -> None:
    """Raises BadInputError for settings that the strategy does not train with, or an impossible range of the batch.

    mode: where the strategy leaves it open, that of the job.
    """
    if settings.compile and strategy.name in NOT_COMPILED:
        raise BadInputError(
            f"The strategy {strategy.name} calls parts of the model, which torch.compile does not see.",
            field="hyperparameters.compile",
            remedy="Leave compile out, or choose the strategy all_reduce.",
        )
    if strategy.name not in ON_ALL_REDUCE:
        _check_without_all_reduce(settings, f"The strategy {strategy.name}", "or choose the strategy all_reduce.")
    elif strategy.mode is None and mode is SyncMode.PARAMETER_SERVER:
        _check_without_all_reduce(settings, "The mode parameter_server", "or choose the mode all_reduce.")
    if settings.max_batch_size is not None and settings.max_batch_size < training.batch_size:
        raise BadInputError(
            f"max_batch_size {settings.max_batch_size} is below the batch size {training.batch_size}.",
            field="hyperparameters.max_batch_size",
            remedy="Give at least batch_size, from which the batch grows.",
        )


def _check_without_all_reduce(settings: Settings, chosen: str, instead: str) -> None:
    refusals = (
        ("precision", settings.precision == "float16", "does not train in float16"),
        ("ema_decay", settings.ema_decay is not None, "averages no weights"),
        ("sync_batch_norm", settings.sync_batch_norm, "does not normalise batches of all workers"),
        ("lr_schedule", settings.lr_schedule == "plateau", "cannot lower the rate on a plateau"),
        ("max_batch_size", settings.max_batch_size is not None, "keeps its batch"),
    )
    for name, is_asked, why_not in refusals:
        if is_asked:
            remedy = BFLOAT16 if name == "precision" else f"Leave {name} out"
            raise BadInputError(f"{chosen} {why_not}.", field=f"hyperparameters.{name}", remedy=f"{remedy}, {instead}")


def check_batch_size(training: TrainingSpec, data: Split) -> None:
    """Raises BadInputError for a batch of more examples than there are."""
    if training.batch_size > len(data.train):
        raise BadInputError(
            f"The batch size {training.batch_size} is larger than the {len(data.train)} training examples.",
            field="batch_size",
            remedy=f"Give at most {len(data.train)}.",
        )


def check_memory_format(settings: Settings, data: Split) -> None:
    """Raises BadInputError for an order of channels where there are none."""
    shape = list(data.facts.get("input_shape", ()))
    if settings.memory_format == "channels_last" and len(shape) != 3:
        raise BadInputError(
            f"channels_last is a memory format of images, and an example has the shape {shape}.",
            field="hyperparameters.memory_format",
            remedy="Leave memory_format out.",
        )
