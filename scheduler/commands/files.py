# SPDX-License-Identifier: Apache-2.0
"""Files that commands read and write: texts, figures as JSON, clusters, recorded rounds, folders of profiles."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from scheduler.simulator.environments.registry import Data
from scheduler.simulator.recorded_rounds import RecordedRound, rounds_from_json
from scheduler.simulator.reports.figures import can_draw
from scheduler.simulator.traces.clusters import Cluster, cluster_from_mapping, read_nxgy
from scheduler.simulator.traces.trace import BadInput


def read_text(path: str) -> str:
    """Returns the text of a file. Raises BadInput for what is not UTF-8, OSError for what cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")  # spreadsheets put a mark at the beginning
    except UnicodeDecodeError as error:
        raise BadInput(path, None, f"not a text file in UTF-8 (byte {error.start})") from error


def write_json(path: str, value: Any) -> None:
    """Writes the value as JSON; a path of - is the terminal."""
    text = json.dumps(value, indent=1)
    if path == "-":
        print(text)
    else:
        write_text(path, text + "\n")


def write_text(path: str, text: str) -> None:
    """Writes the text to the file."""
    Path(path).write_text(text, encoding="utf-8")


def check_can_write(path: str | None) -> None:
    """Checks, before anything is computed, that the file can be written. Raises BadInput if it cannot."""
    if path is None or path == "-":
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise BadInput(path, None, f"there is no folder {folder}; make it, or write elsewhere")
    if Path(path).is_dir():
        raise BadInput(path, None, "it is a folder; name a file in it")
    if not os.access(path if Path(path).exists() else folder, os.W_OK):
        raise BadInput(path, None, "it may not be written; write elsewhere")


def check_can_fill(path: str | None) -> None:
    """Checks, before anything is computed, that the folder can be made. Raises BadInput if it cannot."""
    if path is not None and Path(path).exists() and not Path(path).is_dir():
        raise BadInput(path, None, "it is a file; name a folder")


def fill(path: str, files: Mapping[str, str | bytes]) -> None:
    """Writes the files into the folder, which is made if it is not there."""
    Path(path).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (Path(path) / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def has_matplotlib() -> bool:
    """Returns whether matplotlib is installed, and says so on standard error if it is not."""
    if not can_draw():
        print("scheduler: no figures, for matplotlib is not installed", file=sys.stderr)
    return can_draw()


def read_rounds(path: str) -> list[RecordedRound]:
    """Returns the rounds of a file. Raises BadInput for a file that cannot be used, or without any round."""
    text = read_text(path)
    try:
        rounds = rounds_from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise BadInput(path, error.lineno, f"not JSON: {error.msg}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(path, None, f"{error}; give rounds as the platform or this scheduler recorded them") from error
    if not rounds:
        raise BadInput(path, None, "there are no rounds in it; record one first")
    return rounds


def read_cluster(path: str) -> Cluster:
    """Returns the cluster of nXgY.csv or of MLHub's YAML. Raises BadInput."""
    text = read_text(path)
    if path.endswith(".csv"):
        return read_nxgy(text, name=path)
    try:
        return cluster_from_mapping(yaml.safe_load(text), name=path)
    except yaml.YAMLError as error:
        raise BadInput(path, None, f"not YAML: {' '.join(str(error).split())}") from error


def data_in(path: str) -> Data:
    """Returns the folder's files by their names in it; they are read when an environment asks for them."""
    folder = Path(path)
    if not folder.is_dir():
        raise BadInput(path, None, "there is no such folder; check --data")
    files = [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    return Data(path, files, lambda file: read_text(str(folder / file)))
