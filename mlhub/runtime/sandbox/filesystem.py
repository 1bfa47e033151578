# SPDX-License-Identifier: Apache-2.0
"""The root folder of a sandbox: system libraries and what was given, read-only; scratch in memory; nothing else."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mlhub.runtime.sandbox import kernel
from mlhub.runtime.sandbox.confinement import SCRATCH_FOLDER, SHARED_MEMORY_FOLDER, Confinement
from mlhub.runtime.sandbox.gang_network import network

SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin")
OF_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf", "mime.types")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
TERMINALS = "/dev/pts"
N_INODES = 400_000
DEFAULT_SCRATCH_BYTES = 2**30
READ_ONLY = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
WRITABLE = kernel.ATTR_NOSUID | kernel.ATTR_NODEV


def build(confinement: Confinement) -> str:
    """Mounts the new root at the run's folder and returns its path. The caller is in a mount namespace of its own."""
    root = os.path.realpath(confinement.folder)
    kernel.mount("", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    _memory_disk(root, size_bytes=16 * 2**20, mode="0755")
    for path in SYSTEM:
        _show_system(root, path)
    _make_etc(root, confinement)
    _make_dev(root, confinement)
    os.mkdir(f"{root}/proc", 0o755)
    _scratch(root, SCRATCH_FOLDER, confinement.scratch_bytes or DEFAULT_SCRATCH_BYTES, confinement.uid)
    for outside, inside in confinement.readable:
        show(outside, root + inside, READ_ONLY)
    for outside, inside in confinement.writable:
        show(outside, root + inside, WRITABLE)
    return root


def seal() -> None:
    """Makes the root folder itself read-only; called inside it, the mounts below keep what they have."""
    for path in ("/", "/dev", "/etc"):
        with contextlib.suppress(OSError):
            kernel.mount("", path, "", _REMOUNT_READ_ONLY)


_REMOUNT_READ_ONLY = kernel.MS_BIND | 1 | 32 | kernel.MS_NOSUID  # MS_RDONLY, MS_REMOUNT


def show(outside: str, target: str, attributes: int) -> None:
    """Binds a file or folder of the host to a path of the new root, whose parents are made."""
    source = os.path.realpath(outside)
    if os.path.isdir(source):
        os.makedirs(target, 0o755, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
        if not os.path.exists(target):
            Path(target).touch(0o644)
    kernel.bind(source, target, attributes)


def mount_proc(root: str) -> bool:
    """Shows the processes of this PID namespace. False where the kernel refuses, as in many containers."""
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    try:
        kernel.mount("proc", f"{root}/proc", "proc", flags)
    except OSError:
        return False
    return True


def _show_system(root: str, path: str) -> None:
    if os.path.islink(path):
        os.symlink(os.readlink(path), root + path)
    elif os.path.isdir(path):
        show(path, root + path, READ_ONLY)


def _make_etc(root: str, confinement: Confinement) -> None:
    os.mkdir(f"{root}/etc", 0o755)
    for name in OF_ETC:
        if os.path.exists(f"/etc/{name}"):
            show(f"/etc/{name}", f"{root}/etc/{name}", READ_ONLY)
    uid = os.getuid() if confinement.uid is None else confinement.uid
    Path(f"{root}/etc/passwd").write_text(f"sandbox:x:{uid}:{uid}::/tmp:/bin/sh\n")
    Path(f"{root}/etc/group").write_text(f"sandbox:x:{uid}:\n")
    Path(f"{root}/etc/hosts").write_text(_hosts(confinement))


def _hosts(confinement: Confinement) -> str:
    """The relay of a gang's network answers for the ingest API's name."""
    names = "localhost sandbox"
    if confinement.gang_folder and network.inside_address(confinement.ingest_host) != confinement.ingest_host:
        names += f" {confinement.ingest_host}"
    return f"127.0.0.1 {names}\n::1 localhost\n"


def _make_dev(root: str, confinement: Confinement) -> None:
    dev = f"{root}/dev"
    os.mkdir(dev, 0o755)
    _memory_disk(dev, size_bytes=2**20, mode="0755")
    for device in (*DEVICES, *confinement.devices):
        if os.path.exists(device):
            show(device, root + device, kernel.ATTR_NOSUID | kernel.ATTR_NOEXEC)
    if confinement.has_terminals:
        os.mkdir(root + TERMINALS, 0o755)
        flags = kernel.MS_NOSUID | kernel.MS_NOEXEC
        kernel.mount("devpts", root + TERMINALS, "devpts", flags, "newinstance,ptmxmode=0666,mode=0600,max=256")
        os.symlink("pts/ptmx", f"{dev}/ptmx")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"{dev}/{name}")
    _scratch(root, SHARED_MEMORY_FOLDER, confinement.shared_memory_bytes, confinement.uid)


def _scratch(root: str, path: str, size_bytes: int, uid: int | None) -> None:
    os.makedirs(root + path, 0o755, exist_ok=True)
    owner = os.getuid() if uid is None else uid
    _memory_disk(root + path, size_bytes=size_bytes, mode="0700", more=f",uid={owner},gid={owner}")


def _memory_disk(target: str, *, size_bytes: int, mode: str, more: str = "") -> None:
    options = f"size={size_bytes},nr_inodes={N_INODES},mode={mode}{more}"
    kernel.mount("tmpfs", target, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
