# SPDX-License-Identifier: Apache-2.0
"""The process between the platform and one pod: starts it, limits it, ends it, and writes down how it went.

Run as `python -S shim.py <pod folder>`: small, of disk_use.py and nothing else of MLHub, in a session of its own, so
that it outlives its launcher. It reads pod.json, writes shim.json (who it is), and exit.json once nothing of the pod is
left. A warm worker executes it with two more arguments: the id of the pod's process, which it has forked, and whether
that one has the control group of pod.json.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from mlhub.backends.local.disk_use import DiskWatch
else:  # run as a file, whose folder is the first that Python looks into
    DiskWatch = import_module("disk_use").DiskWatch

TICK_S = 0.2
LIFELINE_EVERY_S = 2.0
GROUP_GONE_WITHIN_S = 2.0
HAS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
DISK_FULL = "disk_full"  # of mlhub.wire.exits, as the next ones are
CONSEQUENCES = (64, 68)  # an error of the code, or a lost peer, may follow from a killed process
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class AdoptedProcess:
    """A child that was forked before this program was executed; offers what is used here of subprocess.Popen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._waited(os.WNOHANG)

    def wait(self) -> int:
        code = self._waited(0)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _waited(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


PodProcess = subprocess.Popen[bytes] | AdoptedProcess


def main(folder: Path, *, adopted: int | None = None, has_group: bool = False) -> None:
    """Returns once nothing of the pod is left. adopted, has_group: the pod's process, where a warm worker forked it."""
    pod = json.loads((folder / "pod.json").read_text())
    adopt_orphans()
    asked = [False, False]  # to end, by a signal; to leave, by whom its machine belongs to
    signal.signal(signal.SIGTERM, lambda *_: asked.__setitem__(0, True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    child: PodProcess
    if adopted is None:
        group = made_group(pod.get("control_group"))
        child = started(folder, pod, group)
    else:
        group = pod.get("control_group") if has_group else None
        child = AdoptedProcess(adopted)
    me, it = os.getpid(), child.pid
    write(folder / "shim.json", {"pid": me, "started": born(me), "child": it, "child_started": born(it)})
    cause, message = watch(folder, pod, child, asked)
    end_group(it)
    code = child.wait()
    message = message or sandbox_problem(folder)
    if not cause and (n_killed := oom_kills(group)) and (code < 0 or code > 128 or code in CONSEQUENCES):
        limit = f"{pod['memory_bytes'] / 2**20:.0f} MiB"
        cause, message = "out_of_memory", f"The kernel ended {n_killed} of the pod's processes at its limit of {limit}."
    remove_group(group)
    if cause == DISK_FULL:  # room for others at once; rm goes down to any depth
        subprocess.run(["rm", "-rf", "--one-file-system", "--", str(folder / "work")], check=False)
    ended = {"code": code, "cause": cause, "message": message, "at": time.time(), "was_asked": any(asked)}
    write(folder / "exit.json", ended)


def adopt_orphans() -> None:
    """What the pod leaves behind becomes a child of this process, also after it executes another program."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def environment(of: Mapping[str, str]) -> dict[str, str]:
    """The variables of a shim, given those of its launcher."""
    return {"PATH": of.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8"}


def started(folder: Path, pod: dict[str, Any], group: dict[str, Any] | None) -> subprocess.Popen[bytes]:
    """The pod's first process."""
    with (folder / "output.log").open("ab", buffering=0) as output:
        return subprocess.Popen(
            pod["argv"],
            cwd=folder / "work",
            env=pod["environment"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
            preexec_fn=lambda: limit(pod, group),
        )


def watch(folder: Path, pod: dict[str, Any], child: PodProcess, asked: list[bool]) -> tuple[str, str]:
    """Until the pod's main process has ended. Returns a cause and message when we ended it for a reason of our own."""
    stop = folder.parent / "stop.json"
    down = Path(pod["node_down_file"])
    lifeline = Lifeline(pod["lifeline"], pod["lifeline_grace_s"])
    lease = PodLease(pod.get("lease", ""))
    disk = DiskWatch(folder, **pod["disk"])
    deadline: float | None = None
    end = end_of(child)
    while child.poll() is None:
        end.poll(1000 * TICK_S)
        now = time.time()
        if down.exists():
            end_group(child.pid)
            return "node_lost", f"Node {pod['node']} went down."
        used = memory_of(child.pid)
        if used > pod["memory_bytes"]:
            # dearer to read, and exact, but for a fork between the readings of two processes: so the lower of two
            used = min(shared_memory_of(child.pid), shared_memory_of(child.pid))
        if used > pod["memory_bytes"]:
            end_group(child.pid)
            return "out_of_memory", f"The pod used {used / 2**20:.0f} MiB of its {pod['memory_bytes'] / 2**20:.0f} MiB."
        if problem := disk.problem(lambda: descendants(child.pid)):
            end_group(child.pid)
            return DISK_FULL, problem
        asked[1] = asked[1] or lifeline.is_cut() or lease.is_over()
        wanted = wanted_deadline(stop, asked=any(asked), now=now, grace_s=pod["grace_s"])
        if wanted is not None and deadline is None:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGTERM)
        if wanted is not None:
            deadline = min(wanted, deadline or wanted)
        if deadline is not None and now > deadline:
            end_group(child.pid)
            return "", "It did not leave in time and was killed."
    return "", ""


def end_of(child: PodProcess) -> select.poll:
    """What waits for the end of the process, and no longer than it is asked to."""
    end = select.poll()
    with contextlib.suppress(OSError):  # a kernel before 5.3: then it waits as long as it is asked to
        end.register(os.pidfd_open(child.pid), select.POLLIN)
    return end


def wanted_deadline(stop: Path, *, asked: bool, now: float, grace_s: float) -> float | None:
    try:
        return float(json.loads(stop.read_text())["deadline"])
    except FileNotFoundError:
        return now + grace_s if asked else None


class Lifeline:
    """A file that the supervisor keeps locked while it lives; cut once it has been free for grace_s seconds."""

    def __init__(self, path: str, grace_s: float) -> None:
        self.path, self.grace_s = path, grace_s
        self.next_look, self.free_since = 0.0, 0.0

    def is_cut(self) -> bool:
        now = time.monotonic()
        if not self.path or now < self.next_look:
            return False
        self.next_look = now + LIFELINE_EVERY_S
        if not self._is_free():
            self.free_since = 0.0
            return False
        self.free_since = self.free_since or now
        return now - self.free_since >= self.grace_s

    def _is_free(self) -> bool:
        try:
            with open(self.path) as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return True
        except BlockingIOError:
            return False
        except OSError:
            return True


class PodLease:
    """A file in which an agent writes until when its pods may run, by a clock that no one sets and that goes on while
    the machine sleeps: an agent that is killed, hangs or is cut off extends it no more. A file that cannot be read
    counts as before: pods end by what was agreed, not by a full disk."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.until: float | None = None

    def is_over(self) -> bool:
        if not self.path:
            return False
        with contextlib.suppress(OSError, ValueError):
            self.until = float(Path(self.path).read_text())
        return self.until is not None and time.clock_gettime(time.CLOCK_BOOTTIME) > self.until


def limit(pod: dict[str, Any], group: dict[str, Any] | None) -> None:
    """In the child, before it becomes the pod."""
    for folder in group["folders"] if group else ():
        Path(folder["path"], "cgroup.procs").write_text(str(os.getpid()))
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_files = min(4096, most) if most != resource.RLIM_INFINITY else 4096
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))
    os.nice(pod["nice"])
    with contextlib.suppress(OSError):  # as mlhub.wire.priority does, which this program cannot import
        Path("/proc/self/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def descendants(ancestor: int) -> list[int]:
    """A process and all that it started, whatever group or session they moved to."""
    found, front = {ancestor}, [ancestor]
    children = children_of if HAS_CHILDREN else children_by_search()
    while front:
        new = children(front.pop()) - found
        found |= new
        front.extend(new)
    return sorted(found)


def children_of(parent: int) -> set[int]:
    """As the kernel lists them for each thread: the cost does not grow with the machine's processes."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{parent}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{parent}/task/{thread}/children") as file:
                found.update(map(int, file.read().split()))
    return found


def children_by_search() -> Callable[[int], set[int]]:
    """For a kernel without such lists: what says of a process which children it has at this moment."""
    children: dict[int, set[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), set()).add(int(entry))
    return lambda parent: children.get(parent, set())


def memory_of(ancestor: int) -> int:
    """Bytes of private memory in use by the pod's processes (shared library pages are not counted)."""
    total = 0
    for pid in descendants(ancestor):
        with contextlib.suppress(OSError, ProcessLookupError):
            total += private_memory(pid)
    return total


def shared_memory_of(ancestor: int) -> int:
    """As memory_of, where a page that several processes share since a fork counts once: by each one's part of it."""
    total = 0
    for pid in descendants(ancestor):
        with contextlib.suppress(OSError, ProcessLookupError):
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except PermissionError:
                total += private_memory(pid)
                continue
            total += next((int(line.split()[1]) * 1024 for line in text.splitlines() if "Pss_Anon:" in line), 0)
    return total


def private_memory(pid: int) -> int:
    """Bytes of a process that are no file's. Raises OSError."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def made_group(group: dict[str, Any] | None) -> dict[str, Any] | None:
    """Makes the control group that pod.json describes; None without one, or where it cannot be made any more."""
    if group is None:
        return None
    try:
        for folder in group["folders"]:
            path = Path(folder["path"])
            path.mkdir(exist_ok=True)
            for name, value in folder["files"].items():
                with contextlib.suppress(FileNotFoundError):  # swap is not always accounted for
                    (path / name).write_text(value)
    except OSError as error:
        print(f"The pod has no control group: {error}", file=sys.stderr, flush=True)
        remove_group(group)
        return None
    return group


def remove_group(group: dict[str, Any] | None) -> None:
    """Once no process is in it; one that is still leaving is waited for."""
    until = time.monotonic() + GROUP_GONE_WITHIN_S
    for folder in group["folders"] if group else ():
        while os.path.exists(folder["path"]):
            with contextlib.suppress(OSError):
                os.rmdir(folder["path"])
                break
            if time.monotonic() > until:
                break
            time.sleep(0.01)


def oom_kills(group: dict[str, Any] | None) -> int:
    """Processes of the pod that the kernel ended for want of memory, as it counted them."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(group["memory_events"]).read_text().splitlines() if group else ():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0


def sandbox_problem(folder: Path) -> str:
    """What the process around the pod wrote when the sandbox failed (mlhub/runtime/sandbox/init.py)."""
    with contextlib.suppress(OSError):
        return (folder / "sandbox_problem.txt").read_text(errors="replace")[:500]
    return ""


def end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def born(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def write(path: Path, value: dict[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(json.dumps(value))
    temporary.rename(path)


if __name__ == "__main__":
    given = sys.argv[2:]
    main(Path(sys.argv[1]), adopted=int(given[0]) if given else None, has_group=given[1:] == ["1"])
