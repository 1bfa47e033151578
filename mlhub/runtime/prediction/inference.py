# SPDX-License-Identifier: Apache-2.0
"""Inference with a trained model: predictions as people read them, outputs of layers, sums of metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from mlhub.runtime.devices import training_device
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.model.ensemble import EnsembleModel, first_member, further_members
from mlhub.runtime.model.evaluation_metrics import EVALUATION_BATCH, add_to_sums
from mlhub.runtime.model.requested_metrics import metrics_of
from mlhub.runtime.model.whole_set_metrics import WholeSetMetrics

OutputArrays = dict[str, NDArray[Any]]
Batches = Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]
PREDICTION, PROBABILITIES, OUTPUT = "prediction", "probabilities", "output"


class Inference:
    """A model with its trained weights. batches: gives examples by their indices, as a Split does.

    on_batch is called before each batch; the caller may set it. metrics: as the training asked for them.
    """

    def __init__(
        self, model: nn.Module, contract: Contract, batches: Batches, facts: Mapping[str, Any], *, combine: str,
        metrics: tuple[str, ...] | None = None,
    ) -> None:  # fmt: skip
        self.metrics = metrics
        self.on_batch: Callable[[], None] = lambda: None
        self.device = training_device()
        self.model = model.to(self.device).eval()
        self.contract, self.facts = contract, facts
        self._batches, self._combine = batches, combine
        self._predict: Callable[[Any], Any] = self.model

    def load(self, weights: Path) -> None:
        """Loads the trained weights, of an ensemble all members. Raises BadInputError if they do not fit the model."""
        state = load_file(weights)
        try:
            self.model.load_state_dict(first_member(state))
        except RuntimeError as error:
            raise BadInputError(
                f"The weights do not fit the model: {error}"[:1000],
                field="model_of",
                remedy="Train the model again: its code gives other layers than it did then.",
            ) from error
        others = further_members(state)
        if others:
            first = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            members = [first, *({name: value.to(self.device) for name, value in other.items()} for other in others)]
            self._predict = EnsembleModel(self.model, members, votes=self._combine == "vote")

    def predictions(self, rows: NDArray[np.int64]) -> OutputArrays:
        """Returns prediction (n,), the index of a class or a number, and probabilities (n, classes); or the raw output.

        Raises BadInputError for outputs that are no tensor with a row for each example.
        """
        return self._joined(rows, lambda inputs: self._readable(self._predict(inputs), len(inputs)))

    def features(self, rows: NDArray[np.int64], layers: tuple[str, ...]) -> OutputArrays:
        """Returns the layers' outputs (n, ...) by name. Raises BadInputError for a layer that does not exist."""
        captured: dict[str, Tensor] = {}
        modules = dict(self.model.named_modules())
        unknown = [name for name in layers if not name or name not in modules]
        if unknown:
            raise BadInputError(
                f"The model has no layer {unknown[0]!r}.",
                field="features",
                remedy=f"Name some of {', '.join(name for name in modules if name)[:1000]}.",
            )

        def capture(name: str) -> Callable[..., None]:
            def hook(_module: nn.Module, _inputs: Any, outputs: Any) -> None:
                first = outputs[0] if isinstance(outputs, tuple | list) else outputs
                captured[name] = first

            return hook

        def found(inputs: Any) -> OutputArrays:
            captured.clear()
            self.model(inputs)
            for name in layers:
                if name not in captured:
                    raise BadInputError(
                        f"The layer {name} is not called in a forward pass.", field="features", remedy="Name another."
                    )
            return {name: self._rows(captured[name], len(inputs), of=f"The layer {name}") for name in layers}

        handles = [modules[name].register_forward_hook(capture(name)) for name in layers]
        try:
            return self._joined(rows, found)
        finally:
            for handle in handles:
                handle.remove()

    def sums(self, rows: NDArray[np.int64]) -> tuple[dict[str, float], WholeSetMetrics]:
        """Sums loss and metrics over these examples, and counts for metrics of whole sets, as training's evaluation."""
        sums: dict[str, float] = {}
        whole, start = self.whole_set_metrics(len(rows)), 0
        with torch.no_grad():
            for inputs, targets in self._prepared(rows):
                outputs, moved = self._predict(inputs), targets.to(self.device)
                add_to_sums(sums, self.contract, outputs, moved)
                whole.add(outputs, moved, start=start)
                start += len(targets)
        return sums, whole

    def whole_set_metrics(self, n: int) -> WholeSetMetrics:
        """New counts for the metrics that the training had, over n examples."""
        is_usual = self.contract.has_usual_loss and self.contract.has_usual_metrics
        names = metrics_of(self.metrics, self.facts, has_usual_form=is_usual)
        return WholeSetMetrics(names, self.facts, n_held_out=n, answers=self.contract.answers)

    def _joined(self, rows: NDArray[np.int64], found: Callable[[Any], OutputArrays]) -> OutputArrays:
        with torch.no_grad():
            parts = [found(inputs) for inputs, _ in self._prepared(rows)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _prepared(self, rows: NDArray[np.int64]) -> Any:
        for start in range(0, len(rows), EVALUATION_BATCH):
            self.on_batch()
            inputs, targets = self._batches(rows[start : start + EVALUATION_BATCH])
            yield self.contract.preprocess(inputs.to(self.device)), targets

    def _readable(self, outputs: Any, n: int) -> OutputArrays:
        task, n_classes = self.facts.get("task"), int(self.facts.get("n_classes") or 0)
        if task == "classification" and _has_shape(outputs, n) and outputs.dim() == 2 and outputs.shape[1] >= n_classes:
            probabilities = torch.softmax(outputs[:, :n_classes].float(), -1)
            return {PREDICTION: _array(probabilities.argmax(-1)), PROBABILITIES: _array(probabilities)}
        if task == "regression" and _has_shape(outputs, n) and outputs.numel() == n:
            return {PREDICTION: _array(self.contract.answers(outputs.reshape(n)))}
        if task == "language_modelling" and _has_shape(outputs, n) and outputs.dim() == 3:
            return {PREDICTION: _array(outputs.argmax(-1))}
        return {OUTPUT: self._rows(outputs, n, of="The model")}

    def _rows(self, outputs: Any, n: int, *, of: str) -> NDArray[Any]:
        if not _has_shape(outputs, n):
            found = f"shape {list(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
            raise BadInputError(
                f"{of} gives {found} for {n} examples.",
                field="features",
                remedy="Name a layer that gives a tensor with a row for each example.",
            )
        return _array(outputs)


def _has_shape(outputs: Any, n: int) -> bool:
    return isinstance(outputs, Tensor) and outputs.shape[:1] == (n,)


def _array(values: Tensor) -> NDArray[Any]:
    """An array on the host; half precision becomes float32, which every reader of files knows."""
    plain = values.detach().cpu()
    return (plain.float() if plain.is_floating_point() else plain.long()).numpy()
