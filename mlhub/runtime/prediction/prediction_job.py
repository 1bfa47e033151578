# SPDX-License-Identifier: Apache-2.0
"""A prediction job: its examples, the model, and the parts into which they are divided."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers.examples import Examples
from mlhub.runtime.data.readers.text import Windows
from mlhub.runtime.data.shard_folders import dataset_data
from mlhub.runtime.data.validation_options import read_validation
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.contract import load_contract
from mlhub.runtime.model.requested_metrics import read_metrics
from mlhub.runtime.model.user_code import tried
from mlhub.runtime.prediction.inference import Inference
from mlhub.wire.launch import PodSpec, PredictionSpec

RowNames = NDArray[np.int64]


@dataclass(frozen=True)
class PredictionJob:
    """rows: indices of the examples in the dataset, in order; part i of n_parts holds batch_size of them."""

    asked: PredictionSpec
    answers: Inference
    rows: RowNames
    batch_size: int

    @property
    def n_parts(self) -> int:
        return math.ceil(len(self.rows) / self.batch_size)

    def part(self, index: int) -> RowNames:
        return self.rows[index * self.batch_size : (index + 1) * self.batch_size]


def open_prediction_job(
    spec: PodSpec, path: Callable[[str], Path], *, code: Path, cache: NodeCache | None = None
) -> PredictionJob:
    """Opens the job. path: gives an input's path by name. Raises BadInputError, and what the model's code raises."""
    asked, dataset, training = spec.prediction, spec.dataset, spec.training
    assert asked is not None
    assert dataset is not None
    assert spec.model.weights is not None
    standardise = bool(training.hyperparameters.get("standardise", True))
    data = dataset_data(dataset, spec.inputs, path, code.parent)
    examples = readers.open_all(dataset.format, data.path, dataset.schema, cache=cache, sha256=data.sha256)
    facts = readers.facts_of(dataset.schema)
    if isinstance(examples, Windows):
        facts["bytes_per_token"] = float(dataset.schema["n_bytes"]) / examples.n_tokens
    package = None if spec.model.package is None else path(spec.model.package)
    contract = load_contract(spec.model, package, code=code, facts=facts, standardise=standardise)
    torch.manual_seed(training.seed)
    with tried("build_model", "It built a model when it was trained: what does it depend on?"):
        # what training accepted is not checked again: a later version may declare fewer names
        model = contract.build_model({**facts, **contract.declared, **training.hyperparameters})
    metrics = read_metrics(training.hyperparameters.get("metrics"))
    answers = Inference(model, contract, examples.batch, facts, combine=asked.combine, metrics=metrics)
    answers.load(path(spec.model.weights))
    rows = _rows(examples, data.path, spec)
    return PredictionJob(asked, answers, rows, training.batch_size)


def _rows(examples: Examples, file: Path, spec: PodSpec) -> RowNames:
    """The indices of all examples, or of those that training holds out of such a dataset."""
    assert spec.prediction is not None
    assert spec.dataset is not None
    n, schema = len(examples), spec.dataset.schema
    if spec.prediction.examples == "all":
        return np.arange(n, dtype=np.int64)
    own = readers.own_part(spec.dataset.format, file, schema, n_examples=n)
    if own is not None:
        return own[1]
    if n < 2:
        raise BadInputError("Of one example none is held out.", field="examples", remedy="Give all.")
    training = spec.training
    validation = read_validation(training.hyperparameters, fraction=training.evaluation_fraction)
    return readers.indices_of(validation, examples, schema)[1]
