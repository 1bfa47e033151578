# SPDX-License-Identifier: Apache-2.0
"""The process between the platform and a sandboxed program: takes away what the program must not have, then starts it.

Run as `python -I -S init.py REPORT_FD`, with a Confinement as JSON on standard input. It writes one JSON object to the
report's file descriptor: {"outcome": ...} once nothing of the program is left, or {"error": ...} when the sandbox could
not be set up. Run as `python -I -S init.py --pod FILE` it reads the Confinement there, passes signals on, and ends as
the program ended, or with SANDBOX_FAILED when the sandbox could not be set up or the relay was lost. In order:
namespaces, the root folder, a child that is the first of the PID namespace, its user id, its capabilities; then the
program's own child, with limits, Landlock and the filter.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

if __name__ == "__main__":
    # mlhub.runtime imports much that this process has no use for; only sandbox/ is needed of it
    for _name, _folder in (("mlhub", 2), ("mlhub.runtime", 1)):
        _package = types.ModuleType(_name)
        _package.__path__ = [str(Path(__file__).resolve().parents[_folder])]
        sys.modules[_name] = _package

from mlhub.runtime.sandbox import filesystem, kernel, landlock
from mlhub.runtime.sandbox.confinement import SCRATCH_FOLDER, SHARED_MEMORY_FOLDER, Confinement
from mlhub.runtime.sandbox.gang_network import network
from mlhub.runtime.sandbox.supervision import SLACK_PROCESSES, supervise, threads_of
from mlhub.wire.exits import ExitCode
from mlhub.wire.priority import step_back

NAMESPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
OF_PROC = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel", "/proc/sys/vm")
CANNOT_EXECUTE = 127
PROBLEM_FILE = "sandbox_problem.txt"  # next to a pod's confinement; its shim reads it


Start = Callable[[Confinement], NoReturn]  # what the program's own process does once everything was taken away


def execute(confinement: Confinement) -> NoReturn:
    """Becomes the program. Raises OSError."""
    os.execve(confinement.argv[0], confinement.argv, confinement.environment)  # noqa: S606 - its purpose


def main() -> int:
    if sys.argv[1] == "--pod":
        return run_pod(Path(sys.argv[2]))
    return run_reported(int(sys.argv[1]))


def run_reported(report: int, *, start: Start = execute) -> int:
    """Runs the program whose confinement comes on standard input. report: the descriptor for how it went."""
    _begin()
    return _confine(Confinement.from_json(sys.stdin.read()), report, start)


def run_pod(described: Path, *, start: Start = execute) -> int:
    """Runs the pod whose confinement is described in a file, and returns its exit status."""
    _begin()
    confinement = Confinement.from_json(described.read_text())
    report_from, report = os.pipe()
    # opened now: later the root folder is the sandbox's, for this process too
    problem = os.open(described.with_name(PROBLEM_FILE), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    _confine(confinement, report, start)
    os.close(report)
    return end_like_the_program(report_from, problem)


def _begin() -> None:
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # until they can be passed on


def _confine(confinement: Confinement, report: int, start: Start) -> int:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    kernel.close_on_exec_from(3)
    os.umask(0o077)
    try:
        if confinement.has_namespaces:
            return _in_namespaces(confinement, report, start)
        return _in_place(confinement, report, start)
    except (OSError, ValueError, KeyError) as error:
        _report_failed_setup(report, error)
        return 1


def end_like_the_program(report_from: int, problem_file: int) -> int:
    """The program's exit status; ends by the same signal as the program.

    When the sandbox failed, its problem is written for the pod's shim, and the status is that of SANDBOX_FAILED.
    A signal to stop that comes from here on is late: an interpreter that ends has no handlers, and would die of it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    with os.fdopen(report_from) as file:
        reports = [json.loads(line) for line in file]
    problem = reports[0].get("error") if reports else None  # one after the outcome came too late to matter
    if problem is not None:
        print(problem, file=sys.stderr, flush=True)
        os.write(problem_file, problem.encode())
        return ExitCode.SANDBOX_FAILED
    status = next((each["outcome"]["status"] for each in reports if "outcome" in each), None)
    code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    return code


def _in_namespaces(confinement: Confinement, report: int, start: Start) -> int:
    relay = _enter_namespaces(confinement)
    os.umask(0o022)
    root = filesystem.build(confinement)
    os.umask(0o077)
    first = os.fork()
    if first == 0:
        code = 1
        try:
            code = _as_first_process(confinement, root, report, start)
        except (OSError, ValueError) as error:
            _report_failed_setup(report, error)
        finally:
            os._exit(code)
    _pass_signals_to(first)
    return os.waitstatus_to_exitcode(_wait_for(first, relay, report))


def _wait_for(first: int, relay: network.Relay | None, report: int) -> int:
    """The status of the sandbox's first process, which is ended with the relay: without it the pod reports nothing."""
    while True:
        pid, status = os.wait()
        if pid == first:
            return status
        if relay is not None and pid == relay.pid:
            how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status >> 8}"
            _report(report, error=f"The relay that connects {relay.purpose} ended by {how}.")
            os.kill(first, signal.SIGKILL)


def _enter_namespaces(confinement: Confinement) -> network.Relay | None:
    """A pod's network is its gang's, or the host's; any other program has one of its own, with no way out but a proxy.

    Returns the relay of a pod in its gang's network, or the proxy.
    """
    is_root, uid, gid = os.geteuid() == 0, os.geteuid(), os.getegid()
    if confinement.gang_folder:
        host, port = confinement.ingest_host, confinement.ingest_port
        paths = confinement.ingest_paths
        relay = network.start_relay(host, port, paths=paths, drop_rights=lambda: _become(confinement.uid))
        network.join(confinement.gang_folder, is_root=is_root, map_ids=lambda: _map_ids(uid, gid))
        network.listen(relay, host, port)
        kernel.unshare(NAMESPACES)
        return relay
    rules = confinement.egress
    if rules is not None:
        from mlhub.runtime.sandbox.egress import proxy  # few runs need it, and its imports take time

        egress = proxy.start(rules, drop_rights=lambda: _become(confinement.uid))
    flags = NAMESPACES | (0 if confinement.is_pod else kernel.CLONE_NEWNET)
    kernel.unshare(flags | (0 if is_root else kernel.CLONE_NEWUSER))
    if not is_root:
        _map_ids(uid, gid)
    if not confinement.is_pod:
        kernel.raise_loopback()
    if rules is None:
        return None
    proxy.open_inside(egress)
    return egress


def _as_first_process(confinement: Confinement, root: str, report: int, start: Start) -> int:
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    filesystem.mount_proc(root)
    kernel.change_root(root)
    socket.sethostname("sandbox")
    filesystem.seal()
    _become(confinement.uid)
    return _run(confinement, report, start, is_namespace=True, scratch=SCRATCH_FOLDER)


def _in_place(confinement: Confinement, report: int, start: Start) -> int:
    """Without namespaces: this process stays who it is, and adopts what the program leaves behind."""
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    if confinement.uid is not None:
        os.chown(confinement.folder, confinement.uid, confinement.uid)
    return _run(confinement, report, start, is_namespace=False, scratch=confinement.folder)


def _run(confinement: Confinement, report: int, start: Start, *, is_namespace: bool, scratch: str) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # waited for
    program = os.fork()
    if program == 0:
        try:
            _become_program(confinement, start, is_namespace=is_namespace)
        except OSError as error:
            _report_failed_setup(report, error)
        finally:
            os._exit(CANNOT_EXECUTE)
    _pass_signals_to(program)
    outcome = supervise(program, confinement, is_namespace=is_namespace, scratch=scratch)
    _report(report, outcome=outcome.as_dict())
    return 0


def _become_program(confinement: Confinement, start: Start, *, is_namespace: bool) -> NoReturn:
    """In the program's own process: everything is taken away, then the program starts."""
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if not confinement.is_pod:
        os.setsid()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # or /proc/self would be another user's
    step_back(confinement.niceness)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900")
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    if not is_namespace:
        _become(confinement.uid)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(confinement.working_folder if is_namespace else confinement.folder)
    _limit(confinement)
    if confinement.has_landlock:
        _hide_files(confinement, is_namespace=is_namespace)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # its own /proc/self belongs to it again
    if confinement.filter_hex:
        kernel.load_filter(bytes.fromhex(confinement.filter_hex))
    start(confinement)


def _become(uid: int | None) -> None:
    """Changes to the run's user id, into a user namespace where it can, and drops every capability."""
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # or it could not write its own maps
        with contextlib.suppress(OSError):  # what it may do there is less than what it could do outside
            kernel.unshare(kernel.CLONE_NEWUSER)
            _map_ids(uid, uid)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the change of user cleared it
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def _map_ids(uid: int, gid: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _limit(confinement: Confinement) -> None:
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: confinement.n_open_files, resource.RLIMIT_MSGQUEUE: 0}
    if not confinement.is_pod:
        wanted |= {resource.RLIMIT_FSIZE: confinement.max_file_bytes, resource.RLIMIT_MEMLOCK: 64 * 2**10}
    counts_elsewhere = not confinement.has_namespaces and confinement.uid is None
    n_elsewhere = threads_of(os.getuid()) if counts_elsewhere else 0
    wanted[resource.RLIMIT_NPROC] = confinement.n_processes + SLACK_PROCESSES + n_elsewhere
    if confinement.memory_bytes is not None:
        wanted[resource.RLIMIT_DATA] = confinement.memory_bytes
    if confinement.timeout_s is not None:
        wanted[resource.RLIMIT_CPU] = 4 * (int(confinement.timeout_s) + 5)
    for limit, most in wanted.items():
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def _hide_files(confinement: Confinement, *, is_namespace: bool) -> None:
    devices = (*filesystem.DEVICES, *confinement.devices)
    # CUDA names its threads by /proc/<pid>/task/<tid>/comm and gives up (error 304) where it may not
    overwrite = ("/proc",) if confinement.has_gpu else ()
    if is_namespace:
        devices = (*devices, *((filesystem.TERMINALS,) if confinement.has_terminals else ()))
        write = [SCRATCH_FOLDER, SHARED_MEMORY_FOLDER, *(inside for _, inside in confinement.writable)]
        landlock.restrict(
            read=["/"], overwrite=overwrite, write=write, devices=devices, allows_tcp=True, is_pod=confinement.is_pod
        )
        return
    etc = (f"/etc/{name}" for name in filesystem.OF_ETC)
    # a gang's processes look at their own in /proc; of others, Landlock hides what only a tracer may see
    of_proc: tuple[str, ...] = ("/proc",) if confinement.is_pod else OF_PROC
    landlock.restrict(
        read=[*filesystem.SYSTEM, *etc, *of_proc, *(outside for outside, _ in confinement.readable)],
        overwrite=overwrite,
        write=[confinement.folder, *(outside for outside, _ in confinement.writable)],
        devices=devices,
        allows_tcp=confinement.is_pod or confinement.egress is not None,
        is_pod=confinement.is_pod,
    )


def _pass_signals_to(pid: int) -> None:
    """Also those that came before."""

    def send(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    for number in FORWARDED:
        signal.signal(number, send)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)


def _report_failed_setup(descriptor: int, error: Exception) -> None:
    _report(descriptor, error=f"The sandbox could not be set up: {type(error).__name__}: {error}")


def _report(descriptor: int, **content: object) -> None:
    os.write(descriptor, json.dumps(content).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
