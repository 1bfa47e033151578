# SPDX-License-Identifier: Apache-2.0
"""Which of the platform's files a pod of the local backend gets: its inputs, its checkpoints, its project's cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from mlhub.runtime.sandbox import pods
from mlhub.wire import environment as names
from mlhub.wire.launch import LaunchSpec


def enclose(
    spec: LaunchSpec, argv: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that start a pod in the sandbox. folder: the pod's own. Raises OSError."""
    tenant = spec.labels.get("project_id") or spec.job_id
    cache = Path(environment[names.CACHE_DIR]) / tenant  # what one project prepared, no other one trusts
    cache.mkdir(parents=True, exist_ok=True)
    work = Path(environment[names.WORK_DIR])
    variables = dict(environment) | {names.CACHE_DIR: str(cache)}
    files = [Path(environment[name]) for name in (names.SPEC_PATH, names.TOKEN_PATH, names.SECRET_PATH)]
    files += [path for path in (_local(item.uri) for item in spec.inputs) if path is not None and path.exists()]
    checkpoints = _local(spec.checkpoint_uri)
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    writable = [work, cache, *([checkpoints] if checkpoints is not None else [])]
    command = pods.enclose(argv, variables, folder=folder, work=work, readable=files, writable=writable, tenant=tenant)
    return command, variables


def _local(uri: str) -> Path | None:
    address = urlparse(uri)
    return Path(unquote(address.path)) if address.scheme == "file" else None
