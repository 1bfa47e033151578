# SPDX-License-Identifier: Apache-2.0
"""The few Linux system calls of a sandbox that Python 3.11 lacks, through ctypes. Each raises an OSError."""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL, SECCOMP_MODE_FILTER = 4, 2
SYS_CLOSE_RANGE, CLOSE_RANGE_CLOEXEC = 436, 4
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
CAP_VERSION_3 = 0x20080522
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8914, 0x8916, 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def checked(result: int, what: str) -> int:
    """The result of a C function. Raises OSError when it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object, what: str) -> int:
    """A system call without a wrapper in the C library; integers are passed as machine words."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return checked(_libc.syscall(ctypes.c_long(number), *words), what)


def unshare(flags: int) -> None:
    checked(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enters the namespace behind an open file of /proc/<pid>/ns; kind: its CLONE_ flag."""
    checked(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    checked(_libc.mount(*arguments), f"mount {target}")


def bind(source: str, target: str, attributes: int) -> None:
    """Shows `source` with everything mounted below it at `target`, with the given ATTR_ flags on all of it."""
    mount(source, target, "", MS_BIND | MS_REC)
    set_mount_attributes(target, attributes)


def set_mount_attributes(target: str, attributes: int) -> None:
    """Adds ATTR_ flags to a mount and to all mounts below it (Linux 5.12)."""
    words = struct.pack("QQQQ", attributes, 0, 0, 0)
    what = f"mount_setattr {target}"
    syscall(SYS_MOUNT_SETATTR, AT_FDCWD, target.encode(), AT_RECURSIVE, words, len(words), what=what)


def change_root(new_root: str) -> None:
    """Makes a mount point the root folder, and removes all other mounts from this namespace."""
    os.chdir(new_root)
    syscall(SYS_PIVOT_ROOT[platform.machine()], b".", b".", what="pivot_root")
    checked(_libc.umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")


def prctl(option: int, *arguments: int) -> None:
    words = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    checked(_libc.prctl(option, *words), f"prctl {option}")


def close_on_exec_from(descriptor: int) -> None:
    """Every file descriptor from this one on is closed when a program is executed."""
    syscall(SYS_CLOSE_RANGE, descriptor, 2**32 - 1, CLOSE_RANGE_CLOEXEC, what="close_range")


def drop_capabilities() -> None:
    """Empties the bounding, ambient, permitted, effective and inheritable sets."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # not one of this kernel, or without the privilege, which then has none to lose
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header, sets = struct.pack("Ii", CAP_VERSION_3, 0), struct.pack("6I", *[0] * 6)
    checked(_libc.capset(header, sets), "capset")


def load_filter(program: bytes) -> None:
    """Confines this thread's system calls by a compiled BPF program, for good."""
    instructions = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
    buffer = ctypes.create_string_buffer(fprog, len(fprog))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(buffer))


def raise_loopback() -> None:
    """Brings the loopback interface of a new network namespace up."""
    import fcntl

    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def add_loopback_address(address: str) -> None:
    """Gives the loopback interface of this network namespace one more IPv4 address; again is no error."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        sockaddr = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16s16s8x", b"lo:0", sockaddr))
