# SPDX-License-Identifier: Apache-2.0
"""A trained model from the folder of its export: its code, its weights, and its predictions for rows."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from .ensemble import EnsembleModel, first_member, further_members
from .inputs import InputReader
from .normalisation import ColumnScale, Standardised
from .weights import read_weights

MODEL, PREPROCESSING, WEIGHTS, CODE = "model.json", "preprocessing.json", "weights.safetensors", "code"
BATCH = 256
N_NEXT = 10  # of a text: the most probable next tokens
PredictionRows = Sequence[Any]


class ExportedModel:
    """facts: what is known of the training's dataset. network: the module; calling this object applies the
    preprocessing first and gives the raw outputs."""

    def __init__(self, folder: Path, *, code: Path | None = None, weights: Path | None = None) -> None:
        """code, weights: where they are not in the folder.

        Raises what the model's code raises, and RuntimeError for weights that do not fit.
        """
        about = json.loads((folder / MODEL).read_text(encoding="utf-8"))
        self.about: Mapping[str, Any] = about
        self.reader = InputReader(json.loads((folder / PREPROCESSING).read_text(encoding="utf-8")))
        self.facts = self.reader.facts
        module = _module(code or folder / CODE, about["entry"])
        hyperparameters = about["hyperparameters"]
        is_standardised = bool(hyperparameters.get("standardise", True))
        torch.manual_seed(about["seed"])
        usual = Standardised.of(self.facts, also_whole=about["kind"] == "builtin") if is_standardised else None
        self.preprocess: Callable[[Tensor], Any] = getattr(module, "preprocess", usual or _unchanged)
        self._in_own_unit = _unit_of(module, self.facts, is_standardised=is_standardised)
        declared = {"replace_head": False, **getattr(module, "HYPERPARAMETERS", {})}
        self.network: nn.Module = module.build_model({**self.facts, **declared, **hyperparameters}).eval()
        state = read_weights(weights or folder / WEIGHTS)
        self.network.load_state_dict(first_member(state))
        self._forward: Callable[[Any], Any] = self.network
        self.is_ensemble = bool(others := further_members(state))
        if others:
            first = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
            self._forward = EnsembleModel(self.network, [first, *others], votes=about.get("combine") == "vote")

    def __call__(self, inputs: Tensor) -> Any:
        return self._forward(self.preprocess(inputs))

    def predict(self, rows: PredictionRows) -> list[dict[str, Any]]:
        """Returns a prediction for each row as JSON. Raises UnusableRowError.

        Of a classification: {"prediction": class, "probabilities": {class: number}}; of a regression the number in the
        unit of the target; of a text the most probable next token at each position, and `next`, the most probable
        tokens after the text; of another task {"output": numbers}. Where a row of a table holds categories that
        training did not see: `unseen`, these by their column.
        """
        found: list[dict[str, Any]] = []
        with torch.no_grad():
            for inputs in self.reader.tensors(rows):
                for start in range(0, len(inputs), BATCH):
                    batch = inputs[start : start + BATCH]
                    found += self._readable(self(batch), len(batch))
        for answer, unseen in zip(found, self.reader.unseen(rows), strict=False):  # of tables only
            if unseen:
                answer["unseen"] = unseen
        return found

    def answers(self, outputs: Tensor) -> Tensor:
        """Probabilities (n, classes) of a classification, numbers (n,) in the target's unit of a regression, else the
        outputs themselves."""
        kind = self._kind(outputs)
        if kind == "classification":
            return torch.softmax(outputs[:, : int(self.facts["n_classes"])].float(), -1)
        return self._in_own_unit(outputs.reshape(-1)).float() if kind == "regression" else outputs

    def _kind(self, outputs: Tensor) -> str:
        """The task, if the outputs are those of the task; else "other"."""
        task, n_classes = self.facts.get("task"), int(self.facts.get("n_classes") or 0)
        fits = {
            "classification": outputs.dim() == 2 and outputs.shape[-1] >= n_classes,
            "regression": outputs[0].numel() == 1,
            "language_modelling": outputs.dim() == 3,
        }
        return str(task) if fits.get(str(task)) else "other"

    def _readable(self, outputs: Any, n: int) -> list[dict[str, Any]]:
        if not isinstance(outputs, Tensor) or outputs.shape[:1] != (n,):
            raise ValueError("The model gives no tensor with a row for each example.")
        kind, answers = self._kind(outputs), self.answers(outputs)
        if kind == "classification":
            return [self._class(row) for row in answers]
        if kind == "regression":
            return [{"prediction": value} for value in answers.tolist()]
        if kind == "language_modelling":
            return [self._tokens(row) for row in answers]
        return [{"output": row.tolist()} for row in answers.float()]

    def _class(self, probabilities: Tensor) -> dict[str, Any]:
        classes = self.facts["classes"]
        named = {str(name): value for name, value in zip(classes, probabilities.tolist(), strict=True)}
        return {"prediction": classes[int(probabilities.argmax())], "probabilities": named}

    def _tokens(self, outputs: Tensor) -> dict[str, Any]:
        tokenizer = self.reader.tokenizer
        assert tokenizer is not None
        values, tokens = torch.softmax(outputs[-1].float(), -1).topk(min(N_NEXT, outputs.shape[-1]))
        following = [
            {"token": token, "text": tokenizer.decode([token]), "probability": value}
            for token, value in zip(tokens.tolist(), values.tolist(), strict=True)
        ]
        return {"prediction": outputs.argmax(-1).tolist(), "next": following}


def _module(code: Path, entry: str) -> ModuleType:
    sys.path.insert(0, str(code))
    return importlib.import_module(entry)


def _unit_of(module: ModuleType, facts: Mapping[str, Any], *, is_standardised: bool) -> Callable[[Tensor], Tensor]:
    """Converts the outputs of a regression into the unit of its targets; a model with a loss of its own keeps its."""
    if hasattr(module, "loss"):
        return _unchanged
    is_own = not is_standardised or bool(getattr(module, "ANSWERS_IN_OWN_UNIT", False))
    return ColumnScale.of(facts, is_own=is_own).answers


def _unchanged(values: Tensor) -> Tensor:
    return values
