# SPDX-License-Identifier: Apache-2.0
"""A model as its author wrote it: build_model, and what is optional, with defaults by task (docs/guides).

build_model(hyperparameters) -> nn.Module
loss(outputs, targets) -> Tensor              mean over the examples of a batch; of a regression, by default, the mean
                                              square error against the targets, of mean 0 and deviation 1
metrics(outputs, targets) -> {name: value}    means over the examples of a batch
build_optimizer(model, hyperparameters) -> torch.optim.Optimizer
preprocess(inputs) -> inputs                  on each batch, before the model; by default numbers get mean 0 and
                                              deviation 1, by the training examples
HYPERPARAMETERS = {name: default}             what the model may be given; other names and kinds are refused
INITIAL_WEIGHTS = "file"                      of the package, .safetensors or a state_dict: what the model begins with
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.data.normalisation import ColumnScale, Standardised
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model import initial_weights
from mlhub.runtime.model.builtin import check_examples
from mlhub.runtime.model.hyperparameters import check_declared, read_optimizer
from mlhub.runtime.model.packages import find_module
from mlhub.runtime.optimization.ftrl import FTRL
from mlhub.runtime.optimization.without_compiler import leave_compiler_out
from mlhub.wire.launch import ModelSpec

HyperparameterValues = Mapping[str, Any]


@dataclass(frozen=True)
class Contract:
    build_model: Callable[[dict[str, Any]], nn.Module]
    loss: Callable[[Any, Tensor], Tensor]
    metrics: Callable[[Any, Tensor], HyperparameterValues]
    build_optimizer: Callable[[nn.Module, dict[str, Any]], torch.optim.Optimizer]
    preprocess: Callable[[Tensor], Any]
    declared: HyperparameterValues = field(default_factory=dict)
    has_usual_loss: bool = True
    has_usual_metrics: bool = True
    has_usual_optimizer: bool = True
    training_loss: Callable[[Any, Tensor], Tensor] | None = None  # where it is not `loss`: training_loss.py
    answers: Callable[[Tensor], Tensor] = field(
        default=lambda outputs: outputs
    )  # in the unit of a regression's targets
    begins_trained: bool = False  # with weights from elsewhere

    def settings(self, hyperparameters: HyperparameterValues, facts: HyperparameterValues) -> dict[str, Any]:
        """What build_model is given: facts of the dataset (input_shape, n_classes ...), then the model's own defaults,
        then what the user gave. Raises BadInputError for what the model does not know."""
        check_declared(hyperparameters, self.declared)
        return {**facts, **self.declared, **hyperparameters}


def load_contract(
    model: ModelSpec, package: Path | None, *, code: Path, facts: HyperparameterValues, standardise: bool = True
) -> Contract:
    """Imports the model's code. code: a folder to unpack into. facts: of the dataset; its task gives the defaults.
    standardise: whether inputs and targets are standardised, unless the package defines its own.

    Raises BadInputError, also where a built-in model cannot be trained on such data, and whatever the code raises.
    """
    leave_compiler_out()
    if model.kind == "builtin":
        check_examples(model.entry, facts)
    task = facts.get("task", "")
    module = find_module(model.kind, model.entry, package, code=code)
    # a model may predict in the targets' own unit, as mlp does
    unit = ColumnScale.of(facts, is_own=not standardise or getattr(module, "ANSWERS_IN_OWN_UNIT", False))
    usual = Standardised.of(facts, also_whole=model.kind == "builtin") if standardise else None
    initial = initial_weights.given(module, code) if package is not None else None
    return Contract(
        build_model=module.build_model if initial is None else initial_weights.built_with(module.build_model, initial),
        loss=getattr(module, "loss", unit.loss if task == "regression" else _LOSSES.get(task, _no_loss)),
        metrics=getattr(module, "metrics", unit.metrics if task == "regression" else _METRICS.get(task, _no_metrics)),
        build_optimizer=getattr(module, "build_optimizer", default_optimizer),
        preprocess=getattr(module, "preprocess", usual or _as_it_is),
        declared=_declared(module, has_weights=initial is not None),
        has_usual_loss=not hasattr(module, "loss"),
        has_usual_metrics=not hasattr(module, "metrics"),
        has_usual_optimizer=not hasattr(module, "build_optimizer"),
        answers=unit.answers if task == "regression" and not hasattr(module, "loss") else _as_it_is,
        begins_trained=initial is not None or bool(getattr(module, "BEGINS_TRAINED", False)),
    )


def _declared(module: ModuleType, *, has_weights: bool) -> dict[str, Any]:
    declared = getattr(module, "HYPERPARAMETERS", {})
    if not isinstance(declared, dict) or not all(isinstance(name, str) for name in declared):
        raise BadInputError(
            "HYPERPARAMETERS is no dictionary of names.", field="file", remedy='Write HYPERPARAMETERS = {"width": 64}.'
        )
    return {"replace_head": False, **declared} if declared and has_weights else declared


def default_optimizer(model: nn.Module, hyperparameters: dict[str, Any]) -> torch.optim.Optimizer:
    """AdamW; or what the hyperparameter `optimizer` names. learning_rate, weight_decay (ftrl: l2), momentum
    (sgd, rmsprop), l1 (ftrl). Raises BadInputError for a name that is unknown."""
    name = read_optimizer(hyperparameters)
    parameters = _parameter_groups(model, hyperparameters, decay="l2" if name == "ftrl" else "weight_decay")
    decay = hyperparameters.get("weight_decay")
    if name == "sgd":
        rate = float(hyperparameters.get("learning_rate", 0.1))
        momentum = float(hyperparameters.get("momentum", 0.9))
        return torch.optim.SGD(parameters, lr=rate, momentum=momentum, weight_decay=float(decay or 0.0))
    if name == "adagrad":
        rate = float(hyperparameters.get("learning_rate", 0.01))
        return torch.optim.Adagrad(parameters, lr=rate, weight_decay=float(decay or 0.0))
    if name == "ftrl":
        rate = float(hyperparameters.get("learning_rate", 0.1))
        return FTRL(parameters, lr=rate, l1=float(hyperparameters.get("l1", 0.0)), l2=float(decay or 0.0))
    rate = float(hyperparameters.get("learning_rate", 1e-3))
    if name == "rmsprop":
        momentum = float(hyperparameters.get("momentum", 0.0))
        return torch.optim.RMSprop(parameters, lr=rate, momentum=momentum, weight_decay=float(decay or 0.0))
    if name == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=float(decay or 0.0))
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01 if decay is None else float(decay))


def _parameter_groups(model: nn.Module, hyperparameters: dict[str, Any], *, decay: str) -> list[Any]:
    """The trained parameters; with weight_decay_on matrices as two groups, of which biases, and the scales of
    normalisation layers, have no decay. decay: the optimiser's name of it."""
    trained = [p for p in model.parameters() if p.requires_grad]
    if hyperparameters.get("weight_decay_on", "all") == "all":
        return trained
    matrices, others = [p for p in trained if p.dim() > 1], [p for p in trained if p.dim() <= 1]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": others, decay: 0.0}]
    return [group for group in groups if group["params"]]


def _as_it_is(inputs: Tensor) -> Tensor:
    return inputs


def _no_loss(outputs: Any, targets: Tensor) -> Tensor:  # noqa: ARG001 (the contract's signature)
    raise BadInputError("The dataset has no known task.", field="loss", remedy="Define loss in your package.")


def _no_metrics(outputs: Any, targets: Tensor) -> HyperparameterValues:  # noqa: ARG001 (the contract's signature)
    return {}


def _classification_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs, targets)


def _language_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())


def _classification_metrics(outputs: Tensor, targets: Tensor) -> HyperparameterValues:
    return {"accuracy": (outputs.argmax(-1) == targets).float().mean()}


_LOSSES: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "classification": _classification_loss,
    "language_modelling": _language_loss,
}
_METRICS: dict[str, Callable[[Any, Tensor], HyperparameterValues]] = {
    "classification": _classification_metrics,
    "language_modelling": _classification_metrics,
}
