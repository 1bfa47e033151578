# SPDX-License-Identifier: Apache-2.0
"""A hostile program: it prints BREACH when it gets what it must not have, and most are shown to get it outside.

A program sees `bait`: a dictionary of things of the platform and of another tenant (world.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from mlhub.runtime.sandbox.verdicts import End

ROOT, ORDINARY = "root", "ordinary"
EVERYBODY = frozenset({ROOT, ORDINARY})
NOBODY: frozenset[str] = frozenset()
PRELUDE = """
import ctypes, errno, os, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def breach(what=""):
    print("BREACH", what, flush=True)
def call(number, *arguments):
    return libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
def attempt(action):
    try:
        found = action()
    except (OSError, ValueError) as error:
        print("refused:", error, flush=True)
    else:
        breach(str(found)[:200])
"""


@dataclass(frozen=True)
class Attack:
    """works_outside: as whom it is shown to succeed without a sandbox; empty, where that would do harm.

    ends: how the run ends, when that shows that it was contained. aims_at: the protection that has to hold.
    """

    name: str
    code: str
    works_outside: frozenset[str] = EVERYBODY
    ends: frozenset[End] = frozenset({End.EXITED})
    aims_at: str = "files"
    timeout_s: float = 120.0  # of what ends by itself or by another limit, however slow the machine is

    @property
    def program(self) -> str:
        slow = "import subprocess" if "subprocess." in self.code else ""  # as long as all other imports together
        return slow + PRELUDE + self.code


def forbidden(name: str, code: str, *, works_outside: frozenset[str] = NOBODY) -> Attack:
    """A system call that ends the program that makes it."""
    return Attack(name, code, works_outside=works_outside, ends=frozenset({End.SYSTEM_CALL}), aims_at="calls")


def refused(name: str, code: str, *, works_outside: frozenset[str] = EVERYBODY) -> Attack:
    return Attack(name, code, works_outside=works_outside, aims_at="calls")


def exhausting(name: str, code: str, *ends: End, timeout_s: float = Attack.timeout_s) -> Attack:
    """Takes more than there is; never let loose outside."""
    return Attack(name, code, works_outside=NOBODY, ends=frozenset(ends), aims_at="limits", timeout_s=timeout_s)
