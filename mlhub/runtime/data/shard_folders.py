# SPDX-License-Identifier: Apache-2.0
"""The file of a dataset, or the folder of its shards: readers of sharded formats take either. Standard library only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mlhub.runtime.errors import BadInputError
from mlhub.wire.launch import SHARDS, DatasetSpec, Input


class DatasetData(NamedTuple):
    """path: of the only file, or of a folder with the shards under their names. sha256: names the content."""

    path: Path
    sha256: str


def dataset_data(dataset: DatasetSpec, inputs: Sequence[Input], path: Callable[[str], Path], work: Path) -> DatasetData:
    """path: gives an input's path by name. work: a folder of this pod, in which the folder of shards is made."""
    by_name = {item.name: item.sha256 for item in inputs}
    if len(dataset.files) == 1:
        return DatasetData(path(dataset.files[0]), by_name[dataset.files[0]])
    links = {name.removeprefix(SHARDS): path(name) for name in dataset.files}
    listed = "\n".join(f"{name} {by_name[name]}" for name in sorted(dataset.files))
    return DatasetData(link_shards(links, work / "shards"), hashlib.sha256(listed.encode()).hexdigest())


def link_shards(paths: Mapping[str, Path], folder: Path) -> Path:
    """The folder, with a link under each name. Several processes of a pod may make it at once."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        link = folder / name
        if link.is_symlink() and link.readlink() == path:
            continue
        aside = folder.with_name(f"{folder.name}.{os.getpid()}")
        aside.unlink(missing_ok=True)
        aside.symlink_to(path)
        aside.replace(link)
    return folder


def shards_in(folder: Path) -> list[Path]:
    """In the order in which their examples are counted. Raises BadInputError for an empty folder."""
    found = sorted(folder.iterdir())
    if not found:
        raise BadInputError("There are no shards.", field="file", remedy="Name at least one.")
    return found
