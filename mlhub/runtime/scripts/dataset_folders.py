# SPDX-License-Identifier: Apache-2.0
"""A job's datasets as a script or a notebook finds them: files under their own names, archives unpacked."""

from __future__ import annotations

from pathlib import Path

from mlhub.runtime.data import folders
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.shard_folders import dataset_data
from mlhub.runtime.pod import Pod
from mlhub.wire import environment
from mlhub.wire.launch import FURTHER, Input


def show_datasets(pod: Pod) -> dict[str, str]:
    """Makes the folders of all datasets. Returns the environment variables that name them; none without datasets.

    Unpacked archives are shared by the pods of a node, and stay until this process ends. Raises BadInputError, OSError.
    """
    cache = NodeCache(pod.cache)
    variables = dict[str, str]()
    if pod.spec.dataset is not None:
        names, inputs = pod.spec.dataset.files, {item.name: item for item in pod.spec.inputs}
        if len(names) == 1:
            path, own = pod.input(names[0]), pod.work / "dataset"
            folder = _folder(pod, inputs[names[0]], names[0], own, cache)
        else:
            path = folder = dataset_data(pod.spec.dataset, pod.spec.inputs, pod.input, pod.work).path
        variables[environment.DATASET] = str(path)
        variables[environment.DATA_DIR] = str(folder)
    return variables | _further(pod, cache)


def _further(pod: Pod, cache: NodeCache) -> dict[str, str]:
    root, variables = pod.work / "datasets", dict[str, str]()
    for item in pod.spec.inputs:
        if not item.name.startswith(FURTHER):
            continue
        name, _, filename = item.name.removeprefix(FURTHER).partition("/")
        folder = _folder(pod, item, filename, root / name, cache)
        if folder != root / name:
            root.mkdir(parents=True, exist_ok=True)
            (root / name).unlink(missing_ok=True)  # of a process before this one
            (root / name).symlink_to(folder)
        variables[f"{environment.DATASET_PREFIX}{name.upper()}"] = str(folder)
    return variables and {**variables, environment.DATASETS: str(root)}


def _folder(pod: Pod, item: Input, filename: str, own: Path, cache: NodeCache) -> Path:
    """own: the folder to make for what is no archive."""
    path = pod.input(item.name)
    if folders.is_unpacked(filename, path):
        return folders.unpacked(path, sha256=item.sha256, cache=cache)
    return folders.linked(path, own, filename)
