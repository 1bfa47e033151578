# SPDX-License-Identifier: Apache-2.0
"""Which system calls a sandboxed program may make: compiled once a process by libseccomp, loaded by init.py.

Everything is allowed but what is listed, since PyTorch and its friends use most of what is harmless. KILLED ends the
program: no library probes these calls. REFUSED fails with an error that libraries expect and work around.
"""

from __future__ import annotations

import errno
import functools
import tempfile
from types import ModuleType

from mlhub.runtime.sandbox import kernel

KILLED = (
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd",
    # file systems
    "mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig", "fspick",
    "mount_setattr", "swapon", "swapoff", "open_by_handle_at",
    # the kernel itself
    "bpf", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "acct",
    "iopl", "ioperm", "lookup_dcookie", "nfsservctl", "vhangup",
    # namespaces, keys, names, the clock
    "setns", "unshare", "keyctl", "add_key", "request_key", "sethostname", "setdomainname",
    "settimeofday", "clock_settime",
)  # fmt: skip
REFUSED = {
    # ENOSYS: the C library and libuv then use the older call, whose arguments a filter can see
    errno.ENOSYS: ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_secret"),
    # memory of the first two counts for no process, and memfd files could be executed
    errno.EPERM: (
        "memfd_create", "shmget", "userfaultfd", "perf_event_open", "mknod", "mknodat", "chroot", "personality",
        "migrate_pages", "move_pages", "mbind", "set_mempolicy", "process_madvise", "kcmp", "quotactl", "quotactl_fd",
        "name_to_handle_at", "fanotify_init", "fanotify_mark", "syslog", "modify_ldt", "clock_adjtime", "adjtimex",
    ),
}  # fmt: skip
# what Landlock does not govern: without a mount namespace these would reach files of the platform
OF_OTHER_FILES = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "utimensat",
    "futimesat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
    "removexattrat", "inotify_add_watch", "file_setattr",
)  # fmt: skip
# where neither a PID namespace nor Landlock (from version 6 on) confines signals
OF_OTHER_PROCESSES = (
    "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "pidfd_send_signal", "ioprio_set",
    "setpriority", "sched_setscheduler", "sched_setparam", "sched_setattr",
)  # fmt: skip
NAMESPACES = (
    kernel.CLONE_NEWNS, kernel.CLONE_NEWCGROUP, kernel.CLONE_NEWUTS, kernel.CLONE_NEWIPC, kernel.CLONE_NEWUSER,
    kernel.CLONE_NEWPID, kernel.CLONE_NEWNET,
)  # fmt: skip
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, N_FAMILIES = 1, 2, 10, 16, 64
NETLINK_ROUTE = 0
SOCK_TYPE_MASK, SOCK_RAW, SOCK_PACKET = 0xF, 3, 10
TIOCSTI, TIOCLINUX = 0x5412, 0x541C


def is_available() -> bool:
    return _library() is not None


@functools.lru_cache(maxsize=4)
def compiled(*, has_namespaces: bool, confines_signals: bool = True, is_pod: bool = False) -> bytes:
    """The BPF program. Without namespaces only socket pairs can be made, and attributes of files stay as they are.

    confines_signals: something else does; else it can send none. is_pod: it may make sockets, and memory that it hands
    to its gang by file descriptor.

    Raises RuntimeError without libseccomp. A call by the convention of another architecture ends the program.
    """
    seccomp = _library()
    if seccomp is None:
        raise RuntimeError("libseccomp is missing. Install the Debian package libseccomp2.")
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    rules.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    for name in KILLED:
        _add(seccomp, rules, seccomp.KILL_PROCESS, name)
    for number, names in REFUSED.items():
        for name in names:
            if is_pod and name == "memfd_create":
                continue
            _add(seccomp, rules, seccomp.ERRNO(number), name)
    for flag in NAMESPACES:
        _add(seccomp, rules, seccomp.KILL_PROCESS, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    other_process = seccomp.Arg(0, seccomp.NE, 0)
    _add(seccomp, rules, seccomp.ERRNO(errno.EPERM), "prlimit64", other_process)  # its supervisor has the same user
    for request in (TIOCSTI, TIOCLINUX):
        low_half = seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, request)
        _add(seccomp, rules, seccomp.ERRNO(errno.EPERM), "ioctl", low_half)
    if not has_namespaces:
        for name in OF_OTHER_FILES:
            _add(seccomp, rules, seccomp.ERRNO(errno.EPERM), name)
    if not has_namespaces and not confines_signals:
        for name in OF_OTHER_PROCESSES:
            _add(seccomp, rules, seccomp.ERRNO(errno.EPERM), name)
    _refuse_sockets(seccomp, rules, allows_sockets=has_namespaces or is_pod)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _refuse_sockets(seccomp: ModuleType, rules: object, *, allows_sockets: bool) -> None:
    refused = seccomp.ERRNO(errno.EACCES)
    if not allows_sockets:
        _add(seccomp, rules, refused, "socket")
        return
    for family in range(N_FAMILIES):
        if family not in (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK):
            _add(seccomp, rules, refused, "socket", seccomp.Arg(0, seccomp.EQ, family))
    _add(seccomp, rules, refused, "socket", seccomp.Arg(0, seccomp.GE, N_FAMILIES))
    for kind in (SOCK_RAW, SOCK_PACKET):
        for family in (AF_INET, AF_INET6):
            of_family = seccomp.Arg(0, seccomp.EQ, family)
            of_kind = seccomp.Arg(1, seccomp.MASKED_EQ, SOCK_TYPE_MASK, kind)
            _add(seccomp, rules, refused, "socket", of_family, of_kind)
    other_netlink = (seccomp.Arg(0, seccomp.EQ, AF_NETLINK), seccomp.Arg(2, seccomp.NE, NETLINK_ROUTE))
    _add(seccomp, rules, refused, "socket", *other_netlink)


def _add(seccomp: ModuleType, rules: object, action: int, name: str, *conditions: object) -> None:
    """Skips names that this libseccomp or architecture does not have: then the kernel call cannot be named either."""
    try:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
    except (OSError, ValueError):
        return
    if number >= 0:
        rules.add_rule(action, number, *conditions)  # type: ignore[attr-defined]


@functools.cache
def _library() -> ModuleType | None:
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError):  # the package, or the C library that it loads
        return None
    return pyseccomp  # type: ignore[no-any-return]
