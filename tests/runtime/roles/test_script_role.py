# SPDX-License-Identifier: Apache-2.0
"""A script runs as plain python would run it: its imports, and the processes that it starts itself."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from mlhub.runtime.errors import describe_error
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = pytest.mark.dist

LOADING = """
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(float(i * i))

if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=4, num_workers=1, multiprocessing_context="{method}", timeout=600)
    from mlhub.runtime import report
    report(1, total=float(sum(batch.sum() for batch in loader)))
"""


def package(folder: Path, files: dict[str, str], *, entry: str, **fields: object) -> Gang:
    """A gang of one worker that runs a script of a zip of these files."""
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    model = ModelSpec(kind="script", entry=entry, package="code")
    return Gang(folder, write_blobs(folder / "x.npz"), model=model, package=folder / "code.zip", **fields)


def run(gang: Gang) -> int:
    gang.start()
    return gang.wait(seconds=150)["worker-0"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_data_loader_has_workers_however_deep_the_pods_folder_is(method: str, tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / ("b" * 60)
    deep.mkdir(parents=True)
    files = {"train.py": LOADING.replace("{method}", method)}
    gang = package(tmp_path, files, entry="train.py", is_forked=False, environment={"TMPDIR": str(deep)})
    assert run(gang) == ExitCode.DONE, gang.logs()
    (found,) = gang.reports("metrics")
    assert found["values"] == {"train/total": 140.0}


def test_a_script_without_torch_starts_and_ends_without_it(tmp_path: Path) -> None:
    """Importing it takes seconds."""
    text = "import atexit, sys\natexit.register(lambda: print('torch' in sys.modules, flush=True))"
    gang = package(tmp_path, {"train.py": text}, entry="train.py", is_forked=False)
    assert run(gang) == ExitCode.DONE, gang.logs()
    assert gang.logs().splitlines()[1:] == ["False"]


def test_a_script_in_a_folder_finds_its_neighbours_and_the_top_of_the_zip(tmp_path: Path) -> None:
    files = {
        "shared/__init__.py": "BASE = 40",
        "src/near.py": "MORE = 2",
        "src/train.py": "import near, shared\nfrom mlhub.runtime import report\nreport(1, x=shared.BASE + near.MORE)",
    }
    gang = package(tmp_path, files, entry="src/train.py")
    assert run(gang) == ExitCode.DONE, gang.logs()
    assert gang.reports("metrics")[0]["values"] == {"train/x": 42.0}


def test_a_module_that_lies_in_another_folder_is_named_with_its_place(tmp_path: Path) -> None:
    gang = package(tmp_path, {"lib/extra.py": "", "train.py": "import extra"}, entry="train.py")
    assert run(gang) == ExitCode.USER_CODE
    (failure,) = gang.reports("failure")
    assert "The zip has lib/extra.py" in failure["message"]
    assert "import it as lib.extra" in failure["message"]


def test_a_module_that_is_nowhere_in_the_zip_is_missing_in_the_image(tmp_path: Path) -> None:
    error = ModuleNotFoundError("No module named 'polars'", name="polars")
    assert "The environment has no polars" in describe_error(error, code=tmp_path)
