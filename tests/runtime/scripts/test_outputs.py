# SPDX-License-Identifier: Apache-2.0
"""Names of the files that a script leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mlhub.runtime.pod import Pod
from mlhub.runtime.scripts import outputs
from mlhub.runtime.scripts.outputs import artifact_name, found_outputs, open_output, output_folder
from mlhub.wire.report import is_output


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("checkpoints/epoch=2-step=48.ckpt", "output/checkpoints/epoch=2-step=48.ckpt"),
        ("Zürich map.txt", "output/Zürich map.txt"),
        ("50%?\\#.txt", "output/50____.txt"),
        ("a\nb\udcff", "output/a_b_"),
    ],
)
def test_every_file_has_a_name_that_the_platform_takes(path: str, name: str) -> None:
    assert artifact_name(Path(path)) == name
    assert is_output(name)


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    monkeypatch.setenv("MLHUB_OUTPUT_DIR", "")
    found = SimpleNamespace(checkpoints=tmp_path / "checkpoints", code=tmp_path / "code")
    found.code.mkdir()
    return cast("Pod", found)


def left(pod: Pod, output: Sequence[str], working: Sequence[str] = ()) -> dict[str, str]:
    """Contents by the names of the artifacts, where each file holds its own name and where it is."""
    brought = open_output(pod)
    for folder, names, prefix in ((output_folder(pod), output, ""), (pod.code, working, "working ")):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(prefix + name)
    return {name: path.read_text() for name, path in found_outputs(pod, brought=brought).items()}


def test_files_whose_names_become_the_same_are_all_kept(pod: Pod) -> None:
    assert left(pod, ["a?.txt", "a#.txt", "a_.txt", "a_-2.txt"], ["a%.txt", "sub/a_.txt"]) == {
        "output/a_.txt": "a#.txt",
        "output/a_-2.txt": "a?.txt",
        "output/a_-2-2.txt": "a_-2.txt",
        "output/a_-3.txt": "a_.txt",
        "output/a_-4.txt": "working a%.txt",
        "output/sub/a_.txt": "working sub/a_.txt",
    }


def test_many_files_with_one_name_are_each_tried_with_few_numbers(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    with_name = Path.with_name

    def counted(self: Path, name: str) -> Path:
        tried.append(name)
        return with_name(self, name)

    monkeypatch.setattr(Path, "with_name", counted)
    n_files = 200
    different = [chr(ord("a") + bit) for bit in range(2)]  # so that a name's files are not all in a row
    names = [f"{first}{''.join('?#%'[number // 3**place % 3] for place in range(5))}.txt"
             for number in range(n_files // 2) for first in different]  # fmt: skip
    assert len(left(pod, names)) == n_files
    assert len(tried) <= 2 * n_files


def test_of_a_file_that_was_copied_to_the_output_folder_the_newer_one_is_kept_once(pod: Pod) -> None:
    copied = "results/ckpt?.pt"
    assert left(pod, [copied], [copied]) == {"output/results/ckpt_.pt": f"working {copied}"}


def test_what_is_over_a_limit_is_counted_and_named(
    pod: Pod, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "MAX_ARTIFACTS", 2)
    long = "0" * 220
    assert list(left(pod, [long, "1", "2", "3", "4"])) == ["output/1", "output/2"]
    said = capsys.readouterr().out
    assert "2 more are none, from output/3." in said
    assert (
        "names of artifacts have at most 200 characters; no artifacts are 1 with longer ones, from output/000" in said
    )
