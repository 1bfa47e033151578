# SPDX-License-Identifier: Apache-2.0
"""Models made elsewhere come in by the same door: known by their content, read in the sandbox, refused by name."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from mlhub.storage.actions import used_bytes
from tests.datasets.files import zipped
from tests.registry.packages import CODE, upload
from tests.registry.test_validation import validated
from tests.runtime.importers.wire import node, onnx_model

ONNX = onnx_model([node("Gemm", ["x", "w"], "y")], shape=["n", 4], constants={"w": np.ones((4, 3))})


@pytest.mark.slow
@pytest.mark.parametrize(("filename", "content"), [("net", ONNX), ("n.zip", zipped({"a.onnx": ONNX}))])
def test_a_model_is_known_by_its_content_and_ready(cast, filename, content):
    version = validated(cast, filename=filename, content=content)
    assert (version["state"], version["error"]) == ("ready", None)
    assert version["entry"] == "model"
    assert version["contract"]["description"].startswith("Imported from ONNX: 1 layers, 12 weights.")
    assert "build_model" in version["contract"]["functions"]


def test_it_can_be_downloaded_as_it_came(cast):
    bob = cast.client(cast.bob)
    version = upload(bob, cast.project_a, filename="net-1.onnx", content=ONNX).json()["latest_version"]
    answer = bob.get(version["downloads"]["package"])
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == {"net-1.onnx": ONNX}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (onnx_model([node("LSTM", ["x"], "y")], shape=["n", 4]), "LSTM"),
        (b"\x80\x02}q\x00." + bytes(40), "holds weights"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_its_name_and_frees_the_quota(cast, content, words):
    version = validated(cast, filename="net.bin", content=content)
    assert version["state"] == "refused"
    assert words in version["error"]["message"]
    assert version["error"]["remedy"]
    assert used_bytes(cast.a) == 0


def test_a_model_is_no_script(cast):
    answer = upload(cast.client(cast.bob), cast.project_a, filename="net.onnx", content=ONNX, kind="script")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "kind")


@pytest.mark.slow
def test_code_next_to_a_model_is_what_counts(cast):
    version = validated(cast, content=zipped({"model.py": CODE, "net.onnx": ONNX}))
    assert version["contract"]["description"] == "One layer."


def test_what_is_nothing_known_is_refused_with_what_may_be_sent(cast):
    answer = upload(cast.client(cast.bob), cast.project_a, filename="net.pb", content=b"\x0a\x04none")
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["field"]) == (422, "file")
    assert all(word in str(error) for word in ("ONNX", "Keras", "Caffe", "Torch7"))
