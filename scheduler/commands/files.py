"""Files that commands read and write: texts, figures as JSON, clusters, recorded rounds, folders of profiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from scheduler.simulator.clusters import Cluster, cluster_from_mapping, read_nxgy
from scheduler.simulator.rounds import RecordedRound, rounds_from_json
from scheduler.simulator.trace import BadInput
from scheduler.simulator.worlds import Data


def read_text(path: str) -> str:
    """Raises BadInput for what is not UTF-8, OSError for what cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(path, None, f"not a text file in UTF-8 (byte {error.start})") from error


def write_json(path: str, value: Any) -> None:
    """A path of - is the terminal."""
    text = json.dumps(value, indent=1)
    if path == "-":
        print(text)
    else:
        Path(path).write_text(text + "\n", encoding="utf-8")


def read_rounds(path: str) -> list[RecordedRound]:
    try:
        return rounds_from_json(json.loads(read_text(path)))
    except json.JSONDecodeError as error:
        raise BadInput(path, error.lineno, f"not JSON: {error.msg}") from error


def read_cluster(path: str) -> Cluster:
    """nXgY.csv, or MLHub's YAML."""
    text = read_text(path)
    if path.endswith(".csv"):
        return read_nxgy(text, name=path)
    try:
        return cluster_from_mapping(yaml.safe_load(text), name=path)
    except yaml.YAMLError as error:
        raise BadInput(path, None, f"not YAML: {' '.join(str(error).split())}") from error


def data_in(path: str) -> Data:
    """The folder's files by their names in it; read when a world asks for them."""
    folder = Path(path)
    if not folder.is_dir():
        raise BadInput(path, None, "there is no such folder; check --data")
    files = [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    return Data(path, files, lambda file: read_text(str(folder / file)))
