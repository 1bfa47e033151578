# SPDX-License-Identifier: Apache-2.0
"""The further datasets of a script: a folder for each, under its name, with links to its files."""

from __future__ import annotations

from pathlib import Path

from mlhub.runtime.pod import Pod
from mlhub.wire import environment
from mlhub.wire.launch import FURTHER


def link_further_datasets(pod: Pod) -> dict[str, str]:
    """Makes the folders below the pod's own. Returns the environment variables that name them; none without any."""
    root, variables = pod.work / "datasets", dict[str, str]()
    for item in pod.spec.inputs:
        if not item.name.startswith(FURTHER):
            continue
        name, _, filename = item.name.removeprefix(FURTHER).partition("/")
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / Path(filename).name
        link.unlink(missing_ok=True)  # of a process before this one
        link.symlink_to(pod.input(item.name))
        variables[f"{environment.DATASET_PREFIX}{name.upper()}"] = str(folder)
    return variables and {**variables, environment.DATASETS: str(root)}
