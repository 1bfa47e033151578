# SPDX-License-Identifier: Apache-2.0
"""Models of Keras and scikit-learn become versions, and none of their code runs."""

from __future__ import annotations

import json
import os
import pickle
import sys
import types
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mlhub.runtime.pod import Pod
from mlhub.runtime.scripts.weights import keep_weights


class Harmful:
    """Its unpickling runs code."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def kept(folder: Path) -> tuple[str | None, dict[str, Any], dict[str, Any]]:
    """Which of the folder's files was taken, its weights and its metadata."""
    pod = Pod(None, folder / "pod", "", "", b"", folder)  # type: ignore[arg-type]
    pod.work.mkdir()
    files = {f"output/{path.name}": path for path in folder.iterdir() if path.is_file()}
    name = keep_weights(pod, files, hyperparameters={})
    if name is None:
        return None, {}, {}
    return (
        name,
        load_file(pod.artifacts / "weights.safetensors"),
        json.loads((pod.artifacts / "metadata.json").read_text()),
    )


def fitted(**attributes: Any) -> Any:
    """An object of a class that is called sklearn.linear_model.Classifier."""
    return instance("sklearn.linear_model", "Classifier", **attributes)


def instance(module: str, name: str, **attributes: Any) -> Any:
    for parent in (module.partition(".")[0], module):
        holder = sys.modules.setdefault(parent, types.ModuleType(parent))
    if not hasattr(holder, name):
        setattr(holder, name, type(name, (), {"__module__": module}))
    found = getattr(holder, name)()
    found.__dict__.update(attributes)
    return found


@pytest.fixture(autouse=True)
def modules_are_as_before() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("sklearn", "joblib"):
            del sys.modules[name]


class JoblibPickler(pickle._Pickler):
    """Writes arrays as joblib does: a description, padding, and the bytes in the midst of the pickle."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if not isinstance(obj, np.ndarray):
            super().save(obj, save_persistent_id)
            return
        facts = {"shape": obj.shape, "order": "C", "dtype": obj.dtype, "numpy_array_alignment_bytes": 16}
        super().save(instance("joblib.numpy_pickle", "NumpyArrayWrapper", **facts))
        self.framer.commit_frame(force=True)  # type: ignore[attr-defined]
        aligned = b"\x03" + b"\xff" * 3
        content = pickle.dumps(obj, protocol=5) if obj.dtype.hasobject else aligned + obj.tobytes()
        self._file_write(content)  # type: ignore[attr-defined]


def dump_by_joblib(found: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickler = JoblibPickler(file, protocol=5)
        pickler._file_write = file.write  # type: ignore[attr-defined]
        pickler.dump(found)


def test_a_model_of_keras_is_a_version_by_its_layers_and_says_its_class(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["layers/dense/vars/0"] = np.ones((2, 3), np.float32)
        file["layers/dense/vars/1"] = np.zeros(3, np.float32)
        file["optimizer/vars/0"] = np.ones(9)
        file["layers/dropout/seed_generator/vars/0"] = np.ones(2, np.uint32)
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.write(tmp_path / "w.h5", "model.weights.h5")
        archive.writestr("config.json", json.dumps({"class_name": "Sequential"}))
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
    (tmp_path / "w.h5").rename(tmp_path / "epoch_01.weights.h5")
    name, weights, metadata = kept(tmp_path)
    assert name == "output/net.keras"
    assert {key: value.shape for key, value in weights.items()} == {"dense.0": (2, 3), "dense.1": (3,)}
    assert metadata["model_class"] == "Keras 3.15.1, Sequential"


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_model_that_joblib_wrote_is_a_version_with_its_fitted_arrays(tmp_path: Path, is_packed: bool) -> None:
    scaler = fitted(mean_=np.arange(3.0), _cache=np.ones(9))
    model = fitted(steps=[("scaler", scaler)], coef_=np.eye(2, 3), classes_=np.array([4, 7]), alpha=0.1)
    path = tmp_path / "model.joblib"
    dump_by_joblib(model, path)
    if is_packed:
        path.write_bytes(zlib.compress(path.read_bytes()))
    name, weights, metadata = kept(tmp_path)
    assert name == "output/model.joblib"
    assert set(weights) == {"steps.scaler.mean_", "coef_", "classes_"}
    assert np.array_equal(weights["coef_"], np.eye(2, 3))
    assert np.array_equal(weights["steps.scaler.mean_"], np.arange(3.0))
    assert (metadata["model_class"], metadata["classes"]) == ("sklearn Classifier", [4, 7])


def test_the_classes_of_a_joblib_model_may_be_words_and_alone_are_no_model(tmp_path: Path) -> None:
    words = np.array(["cat", "dog"], dtype=object)
    dump_by_joblib(fitted(coef_=np.eye(2, 3), classes_=words), tmp_path / "model.joblib")
    _, weights, metadata = kept(tmp_path)
    assert (set(weights), metadata["classes"]) == ({"coef_"}, ["cat", "dog"])
    (other := tmp_path / "other").mkdir()
    dump_by_joblib(fitted(classes_=np.array([0, 1])), other / "model.joblib")
    assert kept(other)[0] is None


def test_a_plain_pickle_is_read_too_but_none_of_its_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(fitted(coef_=np.ones(2), hook=Harmful())))
    name, weights, _ = kept(tmp_path)
    assert name == "output/model.pkl"
    assert list(weights) == ["coef_"]
    assert not (tmp_path / "unpickled").exists()


def test_weights_of_torch_come_before_a_pickle_and_a_dictionary_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "best.pkl").write_bytes(pickle.dumps(fitted(coef_=np.ones(2))))
    save_file({"w": np.ones(1)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}')
    name, _, metadata = kept(tmp_path)
    assert (name, metadata["model_class"]) == ("output/model.safetensors", "GPT2LMHeadModel")
    for path in (tmp_path / "best.pkl", tmp_path / "model.safetensors"):
        path.unlink()
    (tmp_path / "pod").rename(tmp_path / "before")
    (tmp_path / "history.pkl").write_bytes(pickle.dumps({"loss": np.ones(3)}))
    assert kept(tmp_path)[0] is None


def test_a_damaged_file_is_no_model(tmp_path: Path) -> None:
    for name in ("a.keras", "b.h5", "c.joblib", "d.pkl"):
        (tmp_path / name).write_bytes(b"\x80\x05broken")
    assert kept(tmp_path)[0] is None
