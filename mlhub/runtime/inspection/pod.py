# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime.inspection.pod: the main process of a Kubernetes Job that makes one run in the sandbox.

It fetches the task and its files with the token of this run alone, makes the run, and hands in how it ended. The Job's
pod isolates the run from everything else; within it, what the kernel offers besides (Landlock, a filter of system
calls) hides the token from the uploaded code.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mlhub.runtime.inspection import INSPECT
from mlhub.runtime.launcher.ingest_api import IngestUnavailableError, RefusedError, SandboxRunApi
from mlhub.runtime.launcher.inputs import InputUnavailableError, fetch_checked
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.sandbox.runner import run_isolated
from mlhub.runtime.sandbox.verdicts import Ended, SandboxLimits
from mlhub.wire import environment
from mlhub.wire.launch import Input
from mlhub.wire.sandbox import BlobArgument, SandboxOutcome, SandboxTask, TextArgument

T = TypeVar("T")
N_TRIES = 6
OF_THE_POD_ALONE = Isolation(has_namespaces=False, has_own_user=False, has_landlock=False, has_filter=False)


def main() -> int:
    """Exits with 0 once the outcome was taken, and with 1 and a last line that says why not."""
    run_id, work = os.environ[environment.SANDBOX_RUN], Path(os.environ[environment.WORK_DIR])
    token = Path(os.environ[environment.TOKEN_PATH]).read_text().strip()
    api = SandboxRunApi(os.environ[environment.API_URL], run_id, token)
    try:
        task = SandboxTask.from_dict(json.loads(_repeated(api.task)))
        ended = run(task, api=api, work=work)
        outcome = SandboxOutcome(
            ended.exit_code, ended.output, ended.errors, ended.end.value, ended.proof, ended.is_cut
        )
        _repeated(lambda: api.hand_in(outcome.to_json()))
    except (IngestUnavailableError, InputUnavailableError, RefusedError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def run(task: SandboxTask, *, api: SandboxRunApi, work: Path) -> Ended:
    """Fetches the files and makes the run. Raises InputUnavailableError, OSError."""
    inputs = work / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    paths = [_path(argument, index, api, inputs) for index, argument in enumerate(task.arguments)]
    limits = SandboxLimits(task.timeout_s, task.memory_bytes, task.scratch_bytes)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        return run_isolated(
            [*INSPECT, *map(str, paths)],
            folder=Path(folder),
            limits=limits,
            readable=[path for path in paths if isinstance(path, Path)],
            within=_strongest(),
        )


def _strongest() -> Isolation:
    """Some kernels and runtimes offer nothing to processes without rights: then it is the pod that isolates."""
    try:
        return isolation()
    except OSError as error:
        print(error, file=sys.stderr)
        return OF_THE_POD_ALONE


def _path(argument: str | BlobArgument | TextArgument, index: int, api: SandboxRunApi, folder: Path) -> str | Path:
    if isinstance(argument, TextArgument):
        path = folder / f"{index}.json"
        path.write_text(argument.text)
        return path
    if isinstance(argument, BlobArgument):
        item = Input(argument.sha256, argument.sha256, argument.size_bytes, api.blob_address(argument.sha256))
        return fetch_checked(item, fetch=api.fetch, target=folder / argument.sha256)
    return argument


def _repeated(ask: Callable[[], T]) -> T:
    """Raises IngestUnavailableError when the API stays away, RefusedError at once."""
    for n_try in range(N_TRIES - 1):
        try:
            return ask()
        except IngestUnavailableError as error:
            time.sleep(max(error.retry_after_s, 2.0**n_try / 2))
    return ask()


if __name__ == "__main__":
    sys.exit(main())
