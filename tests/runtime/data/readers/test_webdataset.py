# SPDX-License-Identifier: Apache-2.0
"""Shards of the WebDataset layout: the pictures that were packed, however they are packed; faults by their sample."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlhub.runtime.data import readers
from mlhub.runtime.data.readers import tars
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.errors import BadInputError
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.datasets.files import png, shard, shard_of, tarred
from tests.runtime.gang import Gang


def written(folder: Path, content: bytes) -> Path:
    path = folder / "upload"
    path.write_bytes(content)
    return path


def stored_zip(*shards: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for i, content in enumerate(shards):
            archive.writestr(f"train-{i:06}.tar", content)
    return out.getvalue()


def textured(n: int) -> bytes:
    """A shard of random pixels: of plain pictures a normalised network has gradients of rounding errors alone."""
    members: dict[str, bytes] = {}
    for i in range(n):
        out = io.BytesIO()
        pixels = np.random.default_rng(i).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(out, "PNG")
        members |= {f"{i}.png": out.getvalue(), f"{i}.cls": b"%d" % (i % 2)}
    return tarred(members)


TWO = shard(6), shard(5, first=6)
PACKED = {
    "one tar": shard(11),
    "tars one after another": b"".join(TWO),
    "a tar of tars": tarred({f"shards/train-{i}.tar": each for i, each in enumerate(TWO)}),
    "a zip of tars": stored_zip(*TWO),
}


@pytest.mark.parametrize("how", PACKED)
def test_the_samples_are_those_that_were_packed(how: str, tmp_path: Path) -> None:
    path = written(tmp_path, PACKED[how])
    found = readers.inspect("webdataset", path, {})
    assert (found.schema["classes"], found.schema["class_counts"]) == (["0", "1"], [6, 5])
    assert (found.schema["n_examples"], found.schema["input_shape"]) == (11, [1, 8, 8])
    assert found.preview["images"][0]["label"] == "0"
    examples = readers.open_all("webdataset", path, found.schema)
    order = np.random.default_rng(0).permutation(11)
    inputs, targets = examples.batch(order)
    assert targets.tolist() == (order % 2).tolist()
    for one, i in zip(inputs.numpy(), order, strict=True):
        expected = np.asarray(Image.open(io.BytesIO(png(int(i) % 6))), dtype=np.float32) / 255
        np.testing.assert_allclose(one[0], expected)


def test_keys_may_be_the_same_in_several_shards_and_have_the_name_of_their_shard(tmp_path: Path) -> None:
    path = written(tmp_path, stored_zip(shard(2), shard(2)))
    assert readers.inspect("webdataset", path, {}).schema["n_examples"] == 4
    assert readers.names_of("webdataset", path) == [f"train-00000{s}.tar/000{i}" for s in (0, 1) for i in (0, 1)]
    again = written(tmp_path, shard(2) + shard(2))
    assert readers.inspect("webdataset", again, {}).schema["n_examples"] == 4


def test_classes_come_from_a_field_and_a_shard_of_validation_is_held_out(tmp_path: Path) -> None:
    words = shard_of({"kind": "cat"}, {"kind": "dog"}, {"kind": "cat"})
    path = written(
        tmp_path, tarred({"val-000.tar": words, "train-000.tar": shard_of({"kind": "dog"}, {"kind": "cat"})})
    )
    with pytest.raises(BadInputError, match="no field") as refused:
        readers.inspect("webdataset", path, {})
    assert (refused.value.field, "kind" in refused.value.remedy) == ("target", True)
    schema = readers.inspect("webdataset", path, {"target": "kind"}).schema
    assert (schema["classes"], schema["n_held_out"]) == (["cat", "dog"], 3)
    split = readers.open_split("webdataset", path, schema, validation=ValidationSplit())
    assert split.batch(split.train)[1].tolist() == [1, 0]
    assert split.batch(split.held_out)[1].tolist() == [0, 1, 0]


def test_class_numbers_come_in_their_order(tmp_path: Path) -> None:
    path = written(tmp_path, shard_of(*({"label": n} for n in (10, 9, 2))))
    assert readers.inspect("webdataset", path, {}).schema["classes"] == ["2", "9", "10"]


def test_samples_without_classes_are_only_predicted_on(tmp_path: Path) -> None:
    path = written(tmp_path, tarred({"a.png": png(1), "b.png": png(2)}))
    assert readers.inspect("webdataset", path, {"targets": "none"}).schema["task"] == "none"


CLASS = {"a.cls": b"0", "a.png": png(1)}
UNSOUND = {
    "no class": (tarred({**CLASS, "b.png": png(2)}), "sample b has no class"),
    "no picture": (tarred({**CLASS, "b.cls": b"1"}), "sample b has no picture"),
    "two pictures": (tarred({**CLASS, "a.jpg": png(2)}), "two pictures"),
    "one file twice": (tarred({**CLASS, "./a.png": png(2)}), "two files that end in .png"),
    "a key that comes again": (tarred({**CLASS, "b.png": png(2), "b.cls": b"1", "a.json": b"{}"}), "a comes twice"),
    "one class": (tarred(CLASS), "of one class"),
    "a class that is a list": (shard_of({"label": [1]}), "not a word"),
    "no JSON": (tarred({"a.png": png(1), "a.json": b"{"}), "cannot be read"),
    "a picture that is none": (tarred({**CLASS, "b.png": b"PNG", "b.cls": b"1"}), "b cannot be read as an image"),
    "half a tar": (shard(40)[:9000], "damaged|not whole"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(600), "gzip"),
    "no tar": (b"hello" * 400, "damaged"),
    "blanks": (bytes(10240), "no samples"),
    "a name outside": (tarred({"../a.png": png(1)}), "outside"),
    "a compressed zip": (stored_zip(*TWO, compression=zipfile.ZIP_DEFLATED), "compressed"),
    "a zip of pictures": (stored_zip(b"x").replace(b".tar", b".png"), "no .tar file"),
    "shards beside samples": (tarred({"a.tar": shard(2), "b.png": png(1)}), "not in a shard"),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_no_whole_sample_is_named(name: str, tmp_path: Path) -> None:
    content, words = UNSOUND[name]
    with pytest.raises(BadInputError, match=words) as refused:
        readers.inspect("webdataset", written(tmp_path, content), {})
    assert refused.value.field == "file"
    assert refused.value.remedy


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tars, "MAX_FILES", 20)
    with pytest.raises(BadInputError, match="more than 20 files"):
        readers.inspect("webdataset", written(tmp_path, stored_zip(*TWO)), {})


@pytest.mark.slow
def test_training_goes_on_with_another_number_of_workers_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Workers agree to leave within 50 steps, of which there are 100."""
    path = written(tmp_path, stored_zip(textured(6), textured(5)))
    training = TrainingSpec(epochs=20, batch_size=2, hyperparameters={"width": 4, "dropout": 0.0})
    weights = []
    for name in ("whole", "broken"):
        model = ModelSpec(kind="builtin", entry="small_cnn")
        gang = Gang(tmp_path / name, path, format="webdataset", model=model, training=training)
        if name == "broken":
            gang.start(n_workers=2, pause_after=7)
            gang.leave_paused()
            assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
        gang.start()
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        weights.append(gang.weights())
    for one, other in zip(weights[0].values(), weights[1].values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
