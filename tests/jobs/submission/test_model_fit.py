# SPDX-License-Identifier: Apache-2.0
"""Each built-in model with each kind of dataset: what is accepted can be trained, what cannot is refused at once."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mlhub.datasets.models import DatasetVersion
from mlhub.runtime.data import readers
from mlhub.runtime.data.validation_options import read_validation
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.builtin import BUILTINS
from mlhub.runtime.model.contract import load_contract
from mlhub.wire.formats import FILES_TASK, FORMATS
from mlhub.wire.launch import ModelSpec
from tests.cast import make_cast
from tests.datasets import files
from tests.datasets.audio import zip_of_clips
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db
N = 24


def npz(*shape: int, dtype: str = "float32", is_regression: bool = False) -> bytes:
    random, out = np.random.default_rng(0), io.BytesIO()
    y = random.normal(size=N).astype("float32") if is_regression else np.arange(N) % 2
    np.savez(out, x=random.integers(0, 200, (N, *shape)).astype(dtype), y=y)
    return out.getvalue()


def unlabelled_texts() -> bytes:
    return b"".join(json.dumps({"text": f"A story of {i} men who went to sea."}).encode() + b"\n" for i in range(40))


NUMBERS, IMAGES = {"mlp"}, {"mlp", "small_cnn"}
# format, content, options of the upload, and the built-in models that can be trained on it
KINDS: dict[str, tuple[str, Callable[[], bytes], dict[str, Any], set[str]]] = {
    "a table of classes": ("csv", files.csv, {"target": "species"}, NUMBERS),
    "a table of numbers": ("csv", files.csv, {"target": "height"}, NUMBERS),
    "JSON lines": ("json_lines", files.json_lines, {"target": "species"}, NUMBERS),
    "Parquet": ("parquet", files.parquet, {}, NUMBERS),
    "images in folders": ("image_folder", files.images, {}, IMAGES),
    "images in shards": ("webdataset", lambda: files.shard(12), {}, IMAGES),
    "audio": ("audio_folder", zip_of_clips, {}, {"mlp", "audio_cnn"}),
    "a text": ("text", files.text, {}, {"tiny_transformer"}),
    "texts with classes": ("text_lines", files.reviews, {}, {"text_cnn"}),
    "texts without classes": ("text_lines", unlabelled_texts, {}, {"tiny_transformer"}),
    "arrays": ("npz", lambda: npz(5), {}, NUMBERS),
    "arrays for a regression": ("npz", lambda: npz(5, is_regression=True), {}, NUMBERS),
    "single numbers": ("npz", npz, {}, NUMBERS),
    "whole numbers": ("npz", lambda: npz(5, dtype="int64"), {}, NUMBERS),
    "sequences": ("npz", lambda: npz(5, 7), {}, NUMBERS),
    "one channel of samples": ("npz", lambda: npz(1, 700), {}, NUMBERS),
    "pixels": ("npz", lambda: npz(1, 8, 8, dtype="uint8"), {}, IMAGES),
    "images of five channels": ("npz", lambda: npz(5, 8, 8), {}, IMAGES),
    "images for a regression": ("npz", lambda: npz(3, 8, 8, is_regression=True), {}, IMAGES),
    "images of one pixel": ("npz", lambda: npz(1, 1, 1), {}, IMAGES),
    "images of one row": ("npz", lambda: npz(1, 1, 9), {}, IMAGES),
    "volumes": ("npz", lambda: npz(3, 4, 8, 8), {}, NUMBERS),
    "files of any kind": ("files", lambda: b"anything", {}, set()),
}


def test_each_format_is_among_the_kinds() -> None:
    assert {form for form, *_ in KINDS.values()} == set(FORMATS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_built_in_model_is_accepted_where_it_can_be_trained_and_else_refused_with_those_that_fit(
    kind: str, tmp_path: Path
) -> None:
    form, content, options, fitting = KINDS[kind]
    path = tmp_path / "data"
    path.write_bytes(content())
    schema = readers.inspect(form, path, options).schema
    cast = make_cast(max_gpus=4)
    dataset = ready_dataset(cast.project_a, cast.bob)
    DatasetVersion.objects.filter(pk=dataset.pk).update(schema=schema, format=form)
    for name in BUILTINS:
        asked = {"dataset_version": str(dataset.id), "model_version": str(builtin(name).id), "batch_size": 4}
        answers = [cast.client(cast.bob).post(f"/api/v1/jobs{path}", asked, format="json") for path in ("", "/preview")]
        for answer in answers:
            assert (answer.status_code < 300) == (name in fitting), (name, answer.json())
        if name in fitting:
            train_a_step(name, form, path, schema)
        elif schema["task"] != FILES_TASK:
            (error,) = answers[0].json()["errors"]
            assert error["field"] == "model"
            assert all(model in error["remedy"] for model in fitting)
            with pytest.raises(BadInputError, match=name):  # in a pod, too
                train_a_step(name, form, path, schema)


def train_a_step(name: str, form: str, path: Path, schema: dict[str, Any]) -> None:
    """As a pod does: the loss is finite, and the weights change."""
    data = readers.open_split(form, path, schema, validation=read_validation({}))
    contract = load_contract(ModelSpec(kind="builtin", entry=name), None, code=path.parent, facts=data.facts)
    model = contract.build_model(contract.settings({"width": 16}, data.facts))
    optimizer = contract.build_optimizer(model, {})
    before = [parameter.detach().clone() for parameter in model.parameters()]
    inputs, targets = data.batch(data.train[:4])
    loss = contract.loss(model(contract.preprocess(inputs)), targets)
    loss.backward()
    optimizer.step()
    assert torch.isfinite(loss)
    assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
