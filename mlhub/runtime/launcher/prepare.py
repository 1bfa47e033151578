# SPDX-License-Identifier: Apache-2.0
"""What a pod does before its main process, where no launcher shares a disk with it.

1. brings the gang's inputs into a folder that may be shared with other pods of the project (a cache by hash);
2. writes the pod's own specification to $MLHUB_SPEC;
3. of the first worker: removes from that folder what was deleted at the platform;
4. waits at the barrier until every member of the gang is there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

from mlhub.runtime.data.node_cache import PREPARED_FOLDER, hashes_in, remove_unused
from mlhub.runtime.launcher.ingest_api import FencedError, IngestApi, IngestUnavailableError, RefusedError
from mlhub.runtime.launcher.inputs import BROUGHT, BroughtInput, InputUnavailableError, bring
from mlhub.runtime.launcher.pod_barrier import BarrierError, assemble
from mlhub.wire import environment as names
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import Input, LaunchSpec, PodRole, PodSpec
from mlhub.wire.report import MAX_CACHED_INPUTS

FIRST_WORKER = (PodRole.WORKER, 0)
SCRIPT_PORT = 29600  # where a script of a worker may listen: every pod has an address of its own


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code; what went wrong is the last line of the output."""
    parser = argparse.ArgumentParser(prog="python -m mlhub.runtime.launcher.prepare")
    parser.add_argument("--gang", type=Path, required=True, help="folder with launch.json and addresses.json")
    parser.add_argument("--inputs", type=Path, required=True, help="folder to bring inputs into")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ExitCode.PREEMPTED))  # process 1 has no default action
    try:
        launch = LaunchSpec.from_json((asked.gang / "launch.json").read_text())
        addresses = json.loads((asked.gang / "addresses.json").read_text())
        me = (PodRole(os.environ[names.ROLE]), int(os.environ[names.INDEX]))
        placement = next(p for p in launch.pods if (p.role, p.index) == me)
        token = Path(os.environ[names.TOKEN_PATH]).read_text().strip()
        secret = bytes.fromhex(Path(os.environ[names.SECRET_PATH]).read_text().strip())
    except (OSError, KeyError, ValueError, StopIteration) as error:
        return _end(ExitCode.BAD_SPEC, f"The pod's instructions cannot be read: {error!r}.")
    api = IngestApi(os.environ[names.API_URL], launch.attempt_id, token)
    try:
        inputs, brought = _brought(launch.inputs, api=api, folder=asked.inputs)
        _unfold(launch, inputs)
    except InputUnavailableError as error:
        return _end(ExitCode.INPUT_UNAVAILABLE, str(error))
    except FencedError:
        return _end(ExitCode.REPORT_REFUSED, "The platform no longer accepts this attempt.")
    pod_spec = PodSpec.of(
        replace(launch, inputs=inputs),
        placement,
        master_address=addresses["master"],
        server_addresses=tuple(addresses["servers"]),
        worker_addresses=tuple(
            f"{addresses['members'][f'worker-{p.index}'].rpartition(':')[0]}:{SCRIPT_PORT}" for p in launch.workers
        ),
    )
    spec = Path(os.environ[names.SPEC_PATH])
    spec.write_text(pod_spec.to_json())
    spec.with_name(BROUGHT).write_text(json.dumps([one.to_dict() for one in brought]))
    if me == FIRST_WORKER:
        remove_deleted(asked.inputs, api=api, own={item.sha256 for item in launch.inputs})
    try:
        assemble(f"{me[0]}-{me[1]}", addresses["members"], secret=secret, timeout_s=launch.start_timeout_s)
    except BarrierError as error:
        return _end(ExitCode.TIMEOUT, str(error))
    return ExitCode.DONE


def _brought(inputs: Sequence[Input], *, api: IngestApi, folder: Path) -> tuple[tuple[Input, ...], list[BroughtInput]]:
    """The inputs as files of this pod, and what became of those that are read from the folder."""
    found, brought = [], []
    for item in inputs:
        began, was_there = time.monotonic(), is_cached(item, folder=folder)
        found.append(cached(item, api=api, folder=folder))
        if found[-1].uri != item.uri:
            brought.append(BroughtInput(item.sha256, was_there, time.monotonic() - began))
    return tuple(found), brought


def is_cached(item: Input, *, folder: Path) -> bool:
    target = folder / item.sha256
    return target.is_file() and target.stat().st_size == item.size_bytes


def cached(item: Input, *, api: IngestApi, folder: Path) -> Input:
    """The input as a file of this pod. The file under its hash was checked before it was given that name.

    Raises InputUnavailableError, FencedError.
    """
    target = folder / item.sha256
    if not is_cached(item, folder=folder):
        found = bring((item,), api=api, folder=folder / f".{os.uname().nodename}.{os.getpid()}")[item.name]
        if found.parent.parent != folder:
            return item  # a file of this machine, read in place
        found.rename(target)
        found.parent.rmdir()
    _mark_as_used(target)
    return replace(item, uri=target.absolute().as_uri())


def remove_deleted(folder: Path, *, api: IngestApi, own: Collection[str]) -> None:
    """Removes inputs that the project no longer refers to, with what was prepared of them. Whatever keeps it from that
    is left to the next gang: this one starts all the same.

    own: hashes of this gang's inputs. What another gang began to use after the platform was asked stays: somebody may
    have uploaded it again.
    """
    mark = folder / f".{os.uname().nodename}.{os.getpid()}.asked"
    try:
        mark.touch()
        asked_at = mark.stat().st_mtime  # by the clock that marks inputs as used
        mark.unlink()
        prepared = folder / PREPARED_FOLDER
        held = hashes_in(folder) | hashes_in(prepared)
        others = held.difference(own)
        if not others:
            return
        asked = random.sample(sorted(others), min(len(others), MAX_CACHED_INPUTS))
        gone = {one for one in api.deleted_inputs(asked) if not _is_used_since(folder / one, asked_at)}
        if n_gone := remove_unused(folder, gone) + remove_unused(prepared, gone):
            print(f"prepare: removed {n_gone} cached inputs that were deleted", flush=True)
    except (OSError, IngestUnavailableError, RefusedError, FencedError) as error:
        print(f"prepare: deleted inputs stay in the cache: {error}", flush=True)


def _mark_as_used(path: Path) -> None:
    with suppress(OSError):
        os.utime(path)


def _is_used_since(path: Path, moment: float) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime >= moment
    return False


def _unfold(launch: LaunchSpec, inputs: tuple[Input, ...]) -> None:
    """A large dataset becomes arrays to map, here: the pod itself may not write into a folder that others read."""
    dataset = launch.dataset
    found = {item.name: item for item in inputs if item.uri.startswith("file:")}
    if dataset is None or len(dataset.files) > 1 or dataset.files[0] not in found:
        return  # shards are made into arrays by the pod, in a cache of its own
    if os.environ[names.ROLE] != PodRole.WORKER:
        return
    from mlhub.runtime.data import readers

    item = found[dataset.files[0]]
    readers.prepare(dataset.format, Path(unquote(urlparse(item.uri).path)), dataset.schema, sha256=item.sha256)


def _end(code: ExitCode, message: str) -> int:
    print(f"prepare: {message}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
