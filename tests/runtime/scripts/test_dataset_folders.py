# SPDX-License-Identifier: Apache-2.0
"""Scripts find datasets as folders: archives unpacked, other files under the names that they were uploaded with."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang

pytestmark = pytest.mark.dist

READING = """
import os, sys
from pathlib import Path
from mlhub.runtime import dataset_folder, report

folder = dataset_folder()
assert sys.argv[1:] == ["--data", str(folder)] and str(folder) == os.environ["MLHUB_DATA_DIR"], sys.argv
found = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())
print("found", *found, flush=True)
more = Path(os.environ.get("MLHUB_DATASET_MASKS", folder))
n_bytes = sum((folder / name).stat().st_size for name in found)
report(1, n=len(found), bytes=n_bytes, more=len(list(more.rglob("*.png"))))
"""


def gang(folder: Path, dataset: Path, *, form: str, filename: str) -> Gang:
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("train.py", READING)
    return Gang(
        folder,
        dataset,
        format=form,
        filename=filename,
        options={"target": "y"} if form == "csv" else {},
        model=ModelSpec(kind="script", entry="train.py", package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(epochs=1, batch_size=8, hyperparameters={"arguments": ["--data", "$MLHUB_DATA_DIR"]}),
    )


def packed(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "12345")
    return path


@pytest.mark.slow
def test_an_archive_is_a_folder_for_all_workers(tmp_path: Path) -> None:
    dataset = packed(tmp_path / "blob", "audio/1.wav", "audio/2.wav", "labels.json")
    found = gang(tmp_path, dataset, form="files", filename="audio.zip")
    found.further["masks"] = packed(tmp_path / "masks.zip", "a/1.png", "b/2.png")
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    (values,) = [report["values"] for report in found.reports("metrics")]
    assert (values["train/n"], values["train/bytes"], values["train/more"]) == (3, 15, 2)


def test_a_file_lies_in_its_folder_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "blob").write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    found = gang(tmp_path, tmp_path / "blob", form="csv", filename="points.csv")
    found.start()
    assert found.wait() == {"worker-0": ExitCode.DONE}, found.logs()
    assert "found points.csv" in found.logs()
