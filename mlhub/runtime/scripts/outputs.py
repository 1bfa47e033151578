# SPDX-License-Identifier: Apache-2.0
"""What a script leaves: the files of its output folder, those that it wrote into its working folder, and its model.

The output folder (MLHUB_OUTPUT_DIR, and `output` in the working folder) outlives attempts, so that a script which goes
on from what it finds there does so after a preemption. Of the working folder only new files count, up to
MAX_STRAY_BYTES, since a script may have downloaded data into it. Standard library only; weights.py needs torch.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path

from mlhub.runtime.pod import Pod
from mlhub.wire import environment
from mlhub.wire.report import ARTIFACT_FOLDER, MAX_ARTIFACT_NAME, MAX_ARTIFACTS

LINK = "output"
LISTED = "outputs.json"  # in the pod's work folder, for the launcher
MAX_STRAY_BYTES = 2**30
NOT_RESULTS = {"__pycache__", "mlruns", "data", "datasets", "node_modules"}  # folders of the working folder
UNNAMEABLE = "\\#%?"  # characters that the name of an artifact, which is part of an address, cannot have
STATE = r"\.(?:pth?|ckpt|safetensors|bin|keras|h5)(?:\.tar)?$"
CHECKPOINT = re.compile(
    rf"checkpoint|ckpt|(?:step|epoch|iter)s?[-_=]?\d+|^(?:.*[-_.])?(?:last|latest)(?:[-_.].*)?{STATE}", re.IGNORECASE
)
STATE_FILE = re.compile(STATE, re.IGNORECASE)


@dataclass(frozen=True)
class OutputFile:
    """name: of the artifact. path: where it is in this pod."""

    name: str
    path: str
    sha256: str


def output_folder(pod: Pod) -> Path:
    """The folder for what a script wants to be kept; all attempts and all workers of a job share it."""
    folder = pod.checkpoints / LINK
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_output(pod: Pod) -> set[Path]:
    """Makes the output folder, unless the package brings one of its own; returns the files that are there already.

    To be called in between unpacking the package and running it.
    """
    folder = output_folder(pod)
    os.environ[environment.OUTPUT_DIR] = str(folder)
    brought = set(_files(pod.code))
    with suppress(FileExistsError):
        (pod.code / LINK).symlink_to(folder, target_is_directory=True)
    return brought


def found_outputs(pod: Pod, *, brought: set[Path]) -> dict[str, Path]:
    """The files by the names of their artifacts; what is over the limits is named in the log and left out."""
    root = output_folder(pod)
    found: dict[str, Path] = {}
    names: dict[Path, str] = {}  # by the place below the folder
    numbers: dict[str, int] = {}
    for path in _files(root):
        within = path.relative_to(root)
        names[within] = _unused(artifact_name(within), found, numbers)
        found[names[within]] = path
    left = MAX_STRAY_BYTES
    for path in _files(pod.code, without=NOT_RESULTS):
        within = path.relative_to(pod.code / LINK if path.is_relative_to(pod.code / LINK) else pod.code)
        if path in brought:
            continue
        if within in names:  # a checkpoint was copied there, maybe before it was written for the last time
            name = names[within]
            if path.stat().st_mtime >= found[name].stat().st_mtime:
                found[name] = path
            continue
        left -= path.stat().st_size
        if left < 0:
            print(f"mlhub: files of the working folder beyond {MAX_STRAY_BYTES:,} bytes are no artifacts, from {path}")
            break
        names[within] = _unused(artifact_name(within), found, numbers)
        found[names[within]] = path
    return _within_limits(found)


def _within_limits(found: dict[str, Path]) -> dict[str, Path]:
    named = {name: path for name, path in found.items() if len(name) <= MAX_ARTIFACT_NAME}
    if too_long := [name for name in found if name not in named]:
        print(
            f"mlhub: names of artifacts have at most {MAX_ARTIFACT_NAME} characters; no artifacts are "
            f"{len(too_long):,} with longer ones, from {too_long[0][:80]}..."
        )
    left_out = list(named)[MAX_ARTIFACTS:]
    if left_out:
        print(
            f"mlhub: a job has at most {MAX_ARTIFACTS:,} files as artifacts; {len(left_out):,} more are none, from "
            f"{left_out[0]}. Pack them, for example into a zip."
        )
    return {name: named[name] for name in list(named)[:MAX_ARTIFACTS]}


def list_outputs(pod: Pod, files: dict[str, Path]) -> None:
    """Writes the list from which the launcher sends them."""
    listed = []
    for name, path in files.items():
        try:
            listed.append(asdict(OutputFile(name, str(path), sha256_of(path))))
        except OSError as error:  # gone meanwhile, or not to be read
            print(f"mlhub: {name} cannot be read, and is no artifact: {error}")
    (pod.work / LISTED).write_text(json.dumps(listed))


def listed_outputs(pod: Pod) -> list[OutputFile]:
    path = pod.work / LISTED
    return [OutputFile(**found) for found in json.loads(path.read_text())] if path.exists() else []


def artifact_name(path: Path) -> str:
    """output/<path>, with "_" for each character that an artifact's name cannot have."""
    named = (char if char.isprintable() and char not in UNNAMEABLE else "_" for char in path.as_posix())
    return f"{ARTIFACT_FOLDER}/{''.join(named)}"


def _unused(name: str, taken: Collection[str], numbers: dict[str, int]) -> str:
    """The name, or with a number where another file has it: "a?.csv" and "a#.csv" are both named a_.csv.

    numbers: by name the next one to try, so that thousands of files with one name are not counted from 2 each.
    """
    path, number, found = Path(name), numbers.get(name, 2), name
    while found in taken:
        found = path.with_name(f"{path.stem}-{number}{path.suffix}").as_posix()
        number += 1
    numbers[name] = number
    return found


def is_checkpoint(name: str) -> bool:
    """Whether a file's name is that of a checkpoint, such as checkpoint-500/model.safetensors or epoch_3.pt."""
    return any(CHECKPOINT.search(part) for part in Path(name).parts)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _files(root: Path, *, without: frozenset[str] | set[str] = frozenset()) -> Iterator[Path]:
    """Regular files below, in order, without hidden ones; no link is followed."""
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in without)
        for name in sorted(files):
            path = Path(place) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path
