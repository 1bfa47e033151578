# SPDX-License-Identifier: Apache-2.0
"""Trained versions whose predictions are known: each with its dataset, its weights, and what the platform predicts."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save

from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.registry.actions import register_trained
from mlhub.registry.builtin_models import ensure_builtins
from mlhub.registry.models import ModelVersion
from mlhub.runtime.data import readers
from mlhub.runtime.model.contract import load_contract
from mlhub.runtime.prediction.inference import Inference
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from mlhub.wire.launch import ModelSpec
from tests.cast import Cast
from tests.datasets.audio import clips
from tests.datasets.files import customers, reviews, sales, shard, zipped

HOUSES = b"""
import torch
HYPERPARAMETERS = {"width": 4}
def build_model(h):
    return torch.nn.Sequential(torch.nn.Linear(h["input_shape"][0], h["width"]), torch.nn.Linear(h["width"], 1))
"""


@dataclass
class TrainedCase:
    """options: of the upload. code: of a package with the module `entry`; none: a built-in model of that name."""

    entry: str
    format: str
    file: Path
    options: dict[str, Any] = field(default_factory=dict)
    code: bytes = b""
    hyperparameters: dict[str, Any] = field(default_factory=dict)

    def registered(self, cast: Cast) -> tuple[ModelVersion, Inference]:
        """The version with weights as the model began, and what predicts with them on the platform."""
        schema = readers.inspect(self.format, self.file, self.options).schema
        facts, folder = readers.facts_of(schema), self.file.parent / f"{self.entry}-code"
        package = self.file.parent / f"{self.entry}.zip"
        package.write_bytes(zipped({f"{self.entry}.py": self.code}))
        spec = ModelSpec(kind="package" if self.code else "builtin", entry=self.entry)
        contract = load_contract(spec, package if self.code else None, code=folder, facts=facts)
        torch.manual_seed(3)
        model = contract.build_model(contract.settings(self.hyperparameters, facts))
        weights = save({name: value.contiguous() for name, value in model.state_dict().items()})
        examples = readers.open_all(self.format, self.file, schema)
        inference = Inference(model, contract, examples.batch, facts, combine="mean")
        return self._version(cast, schema, weights, package), inference

    def _version(self, cast: Cast, schema: dict[str, Any], weights: bytes, package: Path) -> ModelVersion:
        ensure_builtins()
        stored = _blob(weights)
        dataset = Dataset.objects.create(project=cast.project_a, name=f"d-{uuid4()}", created_by=cast.bob)
        data = DatasetVersion.objects.create(
            dataset=dataset, number=1, state="ready", format=self.format, manifest_sha256="0" * 64, size_bytes=1,
            created_by=cast.bob, schema=schema,
        )  # fmt: skip
        builtin = ModelVersion.objects.filter(model__project=None, entry=self.entry).first()
        return register_trained(
            uuid4(),
            code_version=builtin or self._uploaded(cast, package),
            dataset_version=data,
            weights_blob=stored,
            metadata={"hyperparameters": self.hyperparameters, "seed": 3, "strategy": {}},
            metrics={"eval/loss": 0.5},
            created_by=cast.bob,
        )

    def _uploaded(self, cast: Cast, package: Path) -> ModelVersion:
        model = cast.project_a.models.create(name=self.entry, created_by=cast.bob)
        return ModelVersion.objects.create(
            model=model, number=1, source="upload", kind="package", entry=self.entry, state="ready",
            package=_blob(package.read_bytes()), created_by=cast.bob,
        )  # fmt: skip


def table_of_flowers(folder: Path) -> TrainedCase:
    """A classification of numbers, of which one is missing, and of words."""
    colours = ("red", "blue", "")
    rows = [
        f"{i / 7},{'' if i == 5 else 3 - i},{colours[i % 3]},{'true' if i % 2 else 'false'},{'ab'[i % 2]}"
        for i in range(20)
    ]
    file = folder / "flowers.csv"
    file.write_text("length,width,colour,wild,kind\n" + "\n".join(rows) + "\n")
    return TrainedCase("mlp", "csv", file, {"target": "kind"})


def table_of_customers(folder: Path) -> TrainedCase:
    """A table with an identifier, dates, marked missing values, and a column that is left out by choice."""
    file = folder / "customers.csv"
    file.write_bytes(customers(40))
    return TrainedCase("mlp", "csv", file, {"target": "churned", "ignore": ["source"], "missing": {"income": "fill"}})


def table_of_sales(folder: Path) -> TrainedCase:
    """A table whose numbers have a decimal comma, some of them with groups of digits."""
    file = folder / "sales.csv"
    file.write_bytes(sales(40))
    return TrainedCase("mlp", "csv", file, {"target": "Storno"})


def table_of_houses(folder: Path) -> TrainedCase:
    """A regression by a package, whose targets have a unit."""
    file = folder / "houses.csv"
    file.write_text("rooms,area,price\n" + "".join(f"{i % 5},{30 + 2 * i},{1000.5 + 90 * i}\n" for i in range(20)))
    return TrainedCase("houses", "csv", file, {"target": "price"}, HOUSES, {"width": 6})


def pictures(folder: Path) -> TrainedCase:
    file, random = folder / "pictures.zip", np.random.default_rng(0)
    with zipfile.ZipFile(file, "w") as archive:
        for i in range(8):
            archive.writestr(f"{('cats', 'dogs')[i % 2]}/{i}.png", png(random.integers(0, 255, (12 + i, 12, 3))))
    return TrainedCase("small_cnn", "image_folder", file, hyperparameters={"width": 8})


def story(folder: Path) -> TrainedCase:
    file = folder / "story.txt"
    file.write_text("The quick brown fox jumps over the lazy dog. " * 20)
    return TrainedCase(
        "tiny_transformer", "text", file, {"context_length": 32}, hyperparameters={"width": 16, "n_layers": 1}
    )


def shards(folder: Path) -> TrainedCase:
    file = folder / "shards.tar"
    file.write_bytes(shard(8))
    return TrainedCase("small_cnn", "webdataset", file, hyperparameters={"width": 8})


def sounds(folder: Path) -> TrainedCase:
    """Clips of another rate and length than the model's."""
    file = folder / "sounds.zip"
    file.write_bytes(zipped(clips(8, rate=11_025, seconds=0.4)))
    options = {"sample_rate": 8_000, "clip_s": 0.25}
    return TrainedCase("audio_cnn", "audio_folder", file, options, hyperparameters={"width": 8, "n_mels": 16})


def opinions(folder: Path) -> TrainedCase:
    file = folder / "opinions.jsonl"
    file.write_bytes(reviews(20))
    options = {"tokenizer": "bpe", "vocabulary_size": 300, "context_length": 16}
    return TrainedCase("text_cnn", "text_lines", file, options, hyperparameters={"width": 8})


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


def probabilities(answers: Sequence[dict[str, Any]]) -> np.ndarray:
    return np.array([list(answer["probabilities"].values()) for answer in answers])


def _blob(content: bytes) -> Blob:
    stored = blob_store().write(io.BytesIO(content), limit_bytes=10**8)
    return Blob.objects.get_or_create(sha256=stored.sha256, defaults={"size_bytes": stored.size_bytes})[0]
