# SPDX-License-Identifier: Apache-2.0
"""Images of a chosen size are decoded whenever they are read: the same pixels, and none of them kept."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers.examples import Examples
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from tests.datasets.files import zipped

SIZES = ((40, 30), (200, 150), (64, 64))


def picture(seed: int, form: str) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (*SIZES[seed % 3][::-1], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form)
    return out.getvalue()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    parts = ("train/cat", "train/dog", "test/cat", "test/dog")
    members = {f"{part}/{i}.{end}": picture(i, form) for part in parts for i, end, form in FILES}
    path = tmp_path / "pictures.zip"
    path.write_bytes(zipped(members))
    return path


FILES = [(i, *(("png", "PNG") if i % 2 else ("jpg", "JPEG"))) for i in range(6)]


def test_pictures_that_are_decoded_when_read_are_those_that_are_decoded_once(archive: Path) -> None:
    schema = readers.inspect("image_folder", archive, {"image_size": 48}).schema
    assert (schema["input_shape"], schema["decoding"], schema["n_held_out"]) == ([3, 48, 48], "when_read", 12)
    when_read = readers.open_all("image_folder", archive, schema)
    once = readers.open_all("image_folder", archive, {k: v for k, v in schema.items() if k != "decoding"})
    assert type(once) is Examples
    order = np.random.default_rng(0).permutation(len(once))
    for indices in (order, order[:1], order[3:9]):
        for one, other in zip(when_read.batch(indices), once.batch(indices), strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
        np.testing.assert_array_equal(when_read.targets(indices), once.targets(indices))


@pytest.mark.slow
def test_a_set_that_does_not_fit_into_memory_is_read_batch_by_batch(archive: Path, tmp_path: Path) -> None:
    schema = {**readers.inspect("image_folder", archive, {"image_size": 1024}).schema}
    cache = NodeCache(tmp_path / "cache")
    tracemalloc.start()
    split = readers.open_split(
        "image_folder", archive, schema, validation=ValidationSplit(), cache=cache, sha256="0" * 64
    )
    opened_bytes = tracemalloc.get_traced_memory()[1]
    inputs, _ = split.batch(split.train[:1])
    left_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    whole_bytes = 24 * 3 * 1024 * 1024
    assert (len(split.train), len(split.held_out)) == (12, 12)
    assert tuple(inputs.shape) == (1, 3, 1024, 1024)
    assert opened_bytes < whole_bytes / 10
    assert left_bytes < whole_bytes / 2
    assert not list((tmp_path / "cache").glob("*/inputs.npy"))
    cache.close()


@pytest.mark.parametrize("size", [7, 1025, "64", True])
def test_a_size_that_no_image_may_have_is_refused_by_its_field(archive: Path, size: object) -> None:
    with pytest.raises(BadInputError, match="image_size") as refused:
        readers.inspect("image_folder", archive, {"image_size": size})
    assert refused.value.field == "image_size"
