# SPDX-License-Identifier: Apache-2.0
"""Landlock: which files a process and its descendants may use, whatever their user id allows. Linux 5.13 and later."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from mlhub.runtime.sandbox import kernel

SYS_CREATE_RULESET, SYS_ADD_RULE, SYS_RESTRICT_SELF = 444, 445, 446
VERSION_FLAG, RULE_PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 1, 2

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | REFER
WRITE |= MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM  # never devices
OVERWRITE = READ | WRITE_FILE | TRUNCATE
DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the rights that a rule about a file may name


def version() -> int:
    """The version of this kernel's Landlock interface; 0 when it has none."""
    try:
        return kernel.syscall(SYS_CREATE_RULESET, None, 0, VERSION_FLAG, what="landlock_create_ruleset")
    except OSError:
        return 0


def handled_rights(abi: int) -> int:
    """All file rights that a version knows: what is handled and not granted is denied."""
    n_rights = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5)
    return (1 << n_rights) - 1


def restrict(
    *, read: Iterable[str], overwrite: Iterable[str] = (), write: Iterable[str], devices: Iterable[str],
    allows_tcp: bool, is_pod: bool,
) -> None:  # fmt: skip
    """Confines this thread and what it starts to these folders and files; those that do not exist are left out.

    overwrite: what is there may be written, and nothing be made or removed.

    From version 6 on, signals reach nothing outside, nor do abstract sockets but those of pods; TCP is denied from
    version 4 on.
    """
    abi = version()
    handled = handled_rights(abi)
    tcp = 0 if allows_tcp or abi < 4 else BIND_TCP | CONNECT_TCP
    scopes = SCOPE_SIGNAL if is_pod else SCOPE_SIGNAL | SCOPE_ABSTRACT_UNIX_SOCKET
    scoped = scopes if abi >= 6 else 0
    attributes = struct.pack("QQQ", handled, tcp, scoped)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = kernel.syscall(SYS_CREATE_RULESET, attributes, len(attributes), 0, what="landlock_create_ruleset")
    try:
        for rights, paths in ((READ, read), (OVERWRITE, overwrite), (WRITE, write), (DEVICE, devices)):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        kernel.syscall(SYS_RESTRICT_SELF, ruleset, 0, what="landlock_restrict_self")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        kernel.syscall(SYS_ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0, what=f"landlock_add_rule {path}")
    finally:
        os.close(descriptor)
