# SPDX-License-Identifier: Apache-2.0
"""What the command line packs: the same content gives the same bytes, and nothing travels that is no code."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from mlhub.cli import packing
from mlhub.cli.failures import CommandError


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path.with_name(path.name.replace("_py", ".py").replace("_csv", ".csv"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def names(files: list[tuple[Path, str]]) -> set[str]:
    return {name for _, name in files}


def test_a_folder_gives_the_same_bytes_for_the_same_content(tmp_path: Path) -> None:
    one = tree(tmp_path / "one", cats__a_csv="1", dogs__b_csv="2")
    two = tree(tmp_path / "two", dogs__b_csv="2", cats__a_csv="1")
    with packing.packed(one) as first, packing.packed(two) as second:
        assert first.digest == second.digest
        assert zipfile.ZipFile(first.path).namelist() == ["cats/a.csv", "dogs/b.csv"]
    (two / "cats" / "a.csv").write_text("3")
    with packing.packed(one) as first, packing.packed(two) as second:
        assert first.digest != second.digest


def test_hidden_files_and_environments_stay_at_home(tmp_path: Path) -> None:
    folder = tree(tmp_path / "code", train_py="print(1)", lib__util_py="")
    for path in (".git/config", ".env", "venv/x.py", "__pycache__/y.pyc"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("secret")
    assert names(packing.code(folder, "").files) == {"train.py", "lib/util.py"}


def test_a_script_brings_the_code_of_its_folder_and_no_data(tmp_path: Path) -> None:
    folder = tree(tmp_path, train_py="import util", util_py="", data_csv="1,2")
    found = packing.code(folder / "train.py", "")
    assert (names(found.files), found.kind, found.entry) == ({"train.py", "util.py"}, "script", "train.py")
    assert found.left_out == (folder / "data.csv",)


def test_a_folder_is_run_by_its_train_py_unless_its_model_py_is_a_package(tmp_path: Path) -> None:
    folder = tree(tmp_path, train_py="import model", model_py="class GPT: ...")
    assert (packing.code(folder, "").kind, packing.code(folder, "").entry) == ("script", "train.py")
    (folder / "model.py").write_text("def build_model(hyperparameters):\n    ...")
    assert (packing.code(folder, "").kind, packing.code(folder, "").entry) == ("package", "model")
    (folder / "train.py").unlink()
    (folder / "model.py").write_text("print(1)")
    assert packing.code(folder, "").entry == "model.py"


def test_a_module_with_build_model_is_a_package(tmp_path: Path) -> None:
    folder = tree(tmp_path, nets__resnet_py="def build_model(hyperparameters):\n    ...")
    found = packing.code(folder, "nets/resnet.py")
    assert (found.kind, found.entry) == ("package", "nets.resnet")


@pytest.mark.parametrize(
    ("content", "entry", "message"),
    [("print(1)", "absent.py", "There is no file"), ("def (", "", "is no Python"), (None, "", "has neither model.py")],
)
def test_code_that_cannot_run_is_refused_here(tmp_path: Path, content: str | None, entry: str, message: str) -> None:
    if content is not None:
        tree(tmp_path, train_py=content)
    with pytest.raises(CommandError, match=message):
        packing.code(tmp_path, entry)


def test_an_empty_folder_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="has no files"), packing.packed(tmp_path):
        pass
