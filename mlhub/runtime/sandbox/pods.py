# SPDX-License-Identifier: Apache-2.0
"""Pods of the local backend in the sandbox: they see their own files, their own gang, and the ingest API."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlhub.runtime.sandbox import syscall_filter
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.runtime.sandbox.confinement import Confinement
from mlhub.runtime.sandbox.isolation import uid_of
from mlhub.runtime.sandbox.runner import INIT, PROJECT, import_folder, python_folders

# what name resolution and TLS need; of graphics processors, what their driver offers
OF_NETWORK = ("/etc/resolv.conf", "/etc/ssl", "/etc/ca-certificates", "/etc/services", "/etc/protocols")
OTHER_GPUS = ("/dev/kfd", "/dev/dri/*")  # of AMD and Intel, which are not given to single pods
N_PROCESSES, N_OPEN_FILES = 16_384, 4096
SHARED_MEMORY_BYTES = 2**34


@dataclass(frozen=True)
class Ingest:
    """All that a gang with a network of its own reaches outside. paths: how they begin; "" = all, of a TLS server."""

    host: str
    port: int
    paths: str


def enclose(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path,
    work: Path,
    readable: Sequence[Path],
    writable: Sequence[Path],
    tenant: str,
    devices: Sequence[str] = (),
    ingest: Ingest | None,
    has_terminals: bool = False,
) -> list[str]:
    """The command that runs a pod's program in the sandbox; its confinement is written into `folder`.

    folder: the pod's own, which the pod does not see. work: where it starts, one of `writable`. tenant: its pods share
    a user id, when the platform is root; what is given to the pod is given to that user. devices: the files of the
    NVIDIA GPUs that are the pod's; it can open those of no other. ingest: None = the network of the host.
    has_terminals: it may make pseudo-terminals. Raises OSError.
    """
    chosen = isolation()
    uid = uid_of(tenant) if chosen.has_own_user and chosen.has_namespaces else None
    mount_point = folder / "root"
    mount_point.mkdir(exist_ok=True)
    if uid is not None:
        for path in (*readable, *writable):
            give(path, uid)
    others = (path for pattern in OTHER_GPUS for path in glob.glob(pattern) if not os.path.isdir(path))
    given = [path for path in devices if os.path.exists(path)]
    opened = tuple(sorted({*others, *given}))
    has_gang_network = ingest is not None and chosen.has_namespaces
    names = () if has_gang_network else ("/etc/hosts",)  # there its own one says where the ingest API is
    system = [path for path in (*OF_NETWORK, *names, *(("/sys",) if opened else ())) if os.path.exists(path)]
    seen = [*python_folders(), *system, *map(str, readable)]
    variables = dict(environment)
    if not chosen.has_namespaces:
        entries = [
            entry for entry in variables.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", str(PROJECT))
        ]
        variables["PYTHONPATH"] = os.pathsep.join([str(import_folder(folder)), *entries])
        seen.append(str(folder / "importable"))
    confinement = Confinement(
        argv=tuple(argv),
        environment=variables,
        folder=str(mount_point if chosen.has_namespaces else work),
        readable=tuple((path, path) for path in seen),
        writable=tuple((str(path), str(path)) for path in writable),
        devices=opened,
        working_folder=str(work),
        uid=uid,
        has_namespaces=chosen.has_namespaces,
        has_landlock=chosen.has_landlock,
        is_pod=True,
        has_gpu=bool(given),
        has_terminals=has_terminals,
        gang_folder=str(folder.parent) if has_gang_network else "",
        ingest_host=ingest.host if ingest else "",
        ingest_port=ingest.port if ingest else 0,
        ingest_paths=ingest.paths if ingest else "",
        filter_hex=syscall_filter.compiled(has_namespaces=True, is_pod=True).hex() if chosen.has_filter else "",
        scratch_bytes=None,
        shared_memory_bytes=SHARED_MEMORY_BYTES,
        n_processes=N_PROCESSES,
        n_open_files=N_OPEN_FILES,
        niceness=0,
    )
    described = folder / "confinement.json"
    described.touch(mode=0o600)
    described.write_text(confinement.to_json())
    return [sys.executable, "-I", "-S", str(INIT), "--pod", str(described)]


def give(path: Path, uid: int) -> None:
    """Hands a file or folder, with what earlier pods left in it, to a user; links are not followed.

    What any user may read, such as a blob, stays whose it is.
    """
    found = path.stat()
    if found.st_uid == uid or (path.is_file() and found.st_mode & 0o004):
        return
    if path.is_dir():
        for parent, folders, files, descriptor in os.fwalk(path, follow_symlinks=False):
            del parent
            for name in (*folders, *files):
                os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(path, uid, uid)
