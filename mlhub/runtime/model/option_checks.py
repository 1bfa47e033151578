# SPDX-License-Identifier: Apache-2.0
"""The training loop's options against what the model's code and the dataset are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlhub.runtime.data.readers import Split
from mlhub.runtime.model.class_options import check_classes
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.model.training_loss import training_loss
from mlhub.runtime.option_values import invalid


def check_options(settings: Settings, contract: Contract, facts: Mapping[str, Any]) -> None:
    """Raises BadInputError for options that mean nothing to this model or dataset."""
    check_classes(
        class_weights=settings.class_weights,
        label_smoothing=settings.label_smoothing,
        sampling=settings.sampling,
        facts=facts,
    )
    if settings.weight_decay_on != "all" and not contract.has_usual_optimizer:
        raise invalid("weight_decay_on", "The package builds its own optimiser.", "Leave it out, or make groups there.")


def with_training_loss(contract: Contract, settings: Settings, data: Split) -> Contract:
    """The contract with the loss to train on, by class weights and label smoothing. Raises BadInputError."""
    loss = training_loss(
        contract.loss,
        settings.class_weights,
        settings.label_smoothing,
        facts=data.facts,
        is_own=not contract.has_usual_loss,
        targets=lambda: data.examples.targets(data.train),
    )
    return contract if loss is contract.loss else replace(contract, training_loss=loss)
