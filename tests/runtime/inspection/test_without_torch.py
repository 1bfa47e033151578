# SPDX-License-Identifier: Apache-2.0
"""An upload is described without torch, whose import takes longer than everything else that inspection does."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from PIL import Image

from tests.datasets.audio import zip_of_clips

ROOT = Path(__file__).resolve().parents[3]
REFUSING = """
import sys
sys.modules["torch"] = None  # its import raises ImportError
from mlhub.runtime.inspection.inspect import main
main()
"""


def answer(*arguments: str) -> dict[str, object]:
    command = [sys.executable, "-c", REFUSING, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def write(kind: str, path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0] * 10, "y": [0, 1] * 10})
    if kind == "npz":
        with path.open("wb") as file:
            np.savez(file, x=np.ones((20, 3), np.float32), y=np.arange(20) % 2)
    elif kind == "csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "text":
        path.write_text("a line of text\n" * 50)
    elif kind == "audio_folder":
        path.write_bytes(zip_of_clips(4))
    else:
        picture = io.BytesIO()
        Image.new("RGB", (4, 4)).save(picture, "PNG")
        with zipfile.ZipFile(path, "w") as archive:
            for name in ("a/1.png", "a/2.png", "b/1.png", "b/2.png"):
                archive.writestr(name, picture.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", "text", "image_folder", "audio_folder"])
def test_a_dataset_is_described_without_torch(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "upload"
    write(kind, path)
    options = {"target": "y"} if kind in ("csv", "parquet") else {}
    found = answer("dataset", "--format", kind, "--path", str(path), "--options", json.dumps(options))
    assert found["ok"], found
    assert found["schema"]


def test_a_package_whose_code_imports_no_torch_is_described_without_it(tmp_path: Path) -> None:
    path = tmp_path / "package.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.py", "def build_model(hyperparameters): ...")
    found = answer("model", "--kind", "package", "--entry", "model", "--path", str(path))
    assert (found["ok"], found["functions"]) == (True, ["build_model"]), found
