# SPDX-License-Identifier: Apache-2.0
"""What the platform passes to init.py about one run: the program, what it may see and use, and how much of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from mlhub.runtime.sandbox.egress.rules import EgressRules

SCRATCH_FOLDER = "/tmp"  # noqa: S108 - inside the sandbox, a mount of its own
SHARED_MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - inside the sandbox, a mount of its own


@dataclass(frozen=True)
class Confinement:
    """folder: an empty folder of this run; the mount point of its root, or its scratch where there are no namespaces.

    readable: (path outside, path inside) of files and folders that the program sees and cannot write.
    writable: (path outside, path inside) of folders that it may write and that outlive it.
    devices: device files that it may use besides null, zero, full, random and urandom.
    uid: the user id it gets; None keeps the one that the platform has.
    has_namespaces: else Landlock alone hides files, and the filter has to refuse sockets.
    is_pod: it shares a network with its gang, stays in its process group, and only its rights are limited, not its
    time, memory and files: its backend watches those.
    has_gpu: it may overwrite what its user may in /proc, where CUDA names its threads.
    has_terminals: with namespaces, it may make pseudo-terminals, of an instance of its own.
    gang_folder: where the pods of its gang, all on this machine, find each other's network namespace; "" = the network
    of the host. ingest_host, ingest_port: the one address outside that such a pod reaches, there only paths that begin
    with ingest_paths, "" = all.
    egress: the hosts outside that a program which is no pod reaches, by a proxy at its own loopback; None = none.
    Without namespaces it has the network of the host instead.
    filter_hex: a compiled seccomp program, "" = none. timeout_s: None = it may run for ever. memory_bytes: of all its
    processes, None = unlimited. scratch_bytes: without namespaces, None = unlimited.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    readable: tuple[tuple[str, str], ...]
    writable: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = ()
    working_folder: str = SCRATCH_FOLDER
    uid: int | None = None
    has_namespaces: bool = True
    has_landlock: bool = True
    is_pod: bool = False
    has_gpu: bool = False
    has_terminals: bool = False
    gang_folder: str = ""
    ingest_host: str = ""
    ingest_port: int = 0
    ingest_paths: str = ""
    egress: EgressRules | None = None
    filter_hex: str = ""
    timeout_s: float | None = None
    memory_bytes: int | None = None
    scratch_bytes: int | None = 2**30
    shared_memory_bytes: int = 2**28
    n_processes: int = 256
    n_open_files: int = 512
    max_file_bytes: int = 10 * 2**30
    niceness: int = 5

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Confinement:
        fields = json.loads(text)
        for name in ("argv", "devices"):
            fields[name] = tuple(fields[name])
        for name in ("readable", "writable"):
            fields[name] = tuple((outside, inside) for outside, inside in fields[name])
        if fields["egress"] is not None:
            fields["egress"] = EgressRules.from_dict(fields["egress"])
        return cls(**fields)
