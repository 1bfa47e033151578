# SPDX-License-Identifier: Apache-2.0
"""Pods that a warm worker became: they find what a cold start gives them, see no other job, and end like it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlhub.agent.enclosures import enclose
from mlhub.backends.local import LocalBackend, read_cluster, warm_pool
from mlhub.backends.local.folders import GangFolder, is_alive, read_json, start_time
from mlhub.backends.local.shim import descendants
from mlhub.backends.local.warm_pool import WarmPool, may_start_warm
from mlhub.backends.protocol import GangPhase
from mlhub.runtime.sandbox.isolation import Isolation
from mlhub.runtime.warm.start import is_as_strict_as_a_cold_start
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec, ModelSpec, PodRole
from tests.backends import warm
from tests.backends.specs import PROGRAM, gang
from tests.contract.test_backend import CLUSTER, ended, wait, wait_for_handlers

API_URL = "http://127.0.0.1:9"  # no server is there; the programs of these pods never ask

# what a process is and may do; libraries are left out, since a warm one has them already
STATE = """
import json, os, resource, signal, sys, tempfile, time
import numpy, torch
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
mounts = sorted(" ".join(line.split()[3:6]) for line in open("/proc/self/mountinfo"))
umask = os.umask(0); os.umask(umask)
limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
fds = {}
for number in range(1024):
    if os.path.lexists(f"/proc/self/fd/{number}"):
        fds[number] = os.readlink(f"/proc/self/fd/{number}")
print(json.dumps({
    "environment": {k: v for k, v in os.environ.items() if k != "MASTER_PORT"}, "fds": fds,  # a port of each launch
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits},
    "status": {k: status[k] for k in (
        "Umask", "Uid", "Gid", "Groups", "Threads", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapPrm", "CapEff",
        "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "NSpid") if k in status},
    "pid": [os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0)], "cwd": os.getcwd(), "umask": umask,
    "nice": os.nice(0), "oom": open("/proc/self/oom_score_adj").read(), "groups": open("/proc/self/cgroup").read(),
    "mounts": mounts, "roots": sorted(os.listdir("/")), "host": os.uname().nodename, "argv": sys.argv,
    "path": sys.path, "flags": str(sys.flags), "main": __name__, "temporary": tempfile.gettempdir(),
    "zone": time.tzname, "encodings": [sys.stdout.encoding, sys.getfilesystemencoding()],
    "threads": torch.get_num_threads(), "handlers": [str(signal.getsignal(n)) for n in (2, 13, 15, 25)],
    "processes": sorted(n for n in os.listdir("/proc") if n.isdigit()),
}), flush=True)
"""
# prints what this process finds in its own memory and environment of words that are given in two halves
SEARCH = """
import json
found = []
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        span, rights, *_ = line.split()
        if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vsyscall]")):
            continue
        start, end = (int(x, 16) for x in span.split("-"))
        for word in NEEDLES:
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except OSError:
                break
            needle = bytes(reversed(word))
            if needle in content:
                found.append(needle.decode())
            del content, needle
print(json.dumps(sorted(set(found))), flush=True)
"""


def backend_of(folder: Path, code: str, warm_workers: WarmPool | None, *, inside: bool = True) -> LocalBackend:
    argv = [sys.executable, "-c", code]
    enclosed = enclose if inside else None
    (folder / "home").mkdir(exist_ok=True)
    return LocalBackend(folder / "home", read_cluster(CLUSTER), argv=argv, enclose=enclosed, warm=warm_workers)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[WarmPool]:
    found = warm.ready(warm.pool(tmp_path))
    yield found
    found.close()


def lines(backend: LocalBackend, spec: LaunchSpec) -> list[str]:
    return list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=0))


def printed(backend: LocalBackend, spec: LaunchSpec) -> Any:
    backend.launch(spec)
    status = ended(backend, spec)
    found = lines(backend, spec)
    assert status.phase is GangPhase.SUCCEEDED, (status, found)
    backend.stop(spec.attempt_id, grace_s=0)
    return json.loads(found[-1])


@pytest.mark.slow
def test_a_warm_pod_finds_what_a_cold_one_finds(tmp_path: Path) -> None:
    spec = replace(gang("done", slots=(0,)), api_url=API_URL)
    cold = printed(backend_of(tmp_path, STATE, None), spec)
    with_torch = warm.ready(warm.pool(tmp_path, program=warm.REAL))
    found = printed(backend_of(tmp_path, STATE, with_torch), spec)
    assert with_torch.n_ready == 0  # it was used
    assert {name: (cold[name], found[name]) for name in cold if cold[name] != found[name]} == {}
    assert set(found["fds"]) == {"0", "1", "2"}


@pytest.mark.slow
def test_a_warm_pod_holds_no_word_of_an_earlier_job_or_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLHUB_SECRET_KEY", "platform-word-5417")
    code = f"NEEDLES = {[word[::-1].encode() for word in ('tenant-a-9302', 'platform-word-5417', 'tenant-b-8871')]!r}"
    pool = warm.ready(warm.pool(tmp_path, size=2))
    pool.pause_s = 3600.0  # no third one
    first = replace(gang("done"), api_url=API_URL, token="tenant-a-9302", labels={"project_id": "a"})
    read = "import os; text = open(os.environ['MLHUB_TOKEN_FILE']).read(); print(len(text), flush=True)"
    assert printed(backend_of(tmp_path, read, pool), first) == len("tenant-a-9302")
    second = replace(gang("done"), api_url=API_URL, token="tenant-b-8871", labels={"project_id": "b"})
    own = f"import os; kept = open(os.environ['MLHUB_TOKEN_FILE']).read()\n{code}\n{SEARCH}"
    assert printed(backend_of(tmp_path, own, pool), second) == ["tenant-b-8871"]
    assert pool.n_ready == 0
    pool.close()


@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False])
def test_a_warm_pod_ends_with_its_own_status(workers: WarmPool, tmp_path: Path, inside: bool) -> None:
    backend = backend_of(tmp_path, PROGRAM, workers, inside=inside)
    spec = replace(gang("exit 3"), api_url=API_URL)
    backend.launch(spec)
    assert workers.n_ready == 0
    status = ended(backend, spec)
    assert (status.phase, [pod.exit_code for pod in status.pods]) == (GangPhase.FAILED, [3])


def test_a_warm_pod_is_asked_to_leave_like_any_other(workers: WarmPool, tmp_path: Path) -> None:
    backend = backend_of(tmp_path, PROGRAM, workers)
    spec = replace(gang("run"), api_url=API_URL)
    backend.launch(spec)
    wait_for_handlers(backend, spec)
    backend.stop(spec.attempt_id, grace_s=60)
    status = ended(backend, spec)
    assert (status.phase, [pod.exit_code for pod in status.pods]) == (GangPhase.STOPPED, [75])


def test_no_process_of_a_warm_pod_outlives_its_shim(workers: WarmPool, tmp_path: Path) -> None:
    backend = backend_of(tmp_path, PROGRAM, workers)
    spec = replace(gang("run"), api_url=API_URL)
    backend.launch(spec)
    wait_for_handlers(backend, spec)
    shim = read_json(GangFolder(backend.home / "pods" / spec.attempt_id).pod(PodRole.WORKER, 0).shim)
    assert shim is not None
    before = [(pid, start_time(pid)) for pid in descendants(shim["pid"])]
    assert len(before) >= 4  # the shim, two of the sandbox, the program
    os.kill(shim["pid"], signal.SIGKILL)
    status = ended(backend, spec)
    assert (status.cause, status.message) == (Cause.KILLED, "The pod's shim was killed.")
    wait(lambda: not any(is_alive(pid, started) for pid, started in before if started is not None))


@pytest.mark.slow
def test_a_warm_pod_that_uses_too_much_memory_is_ended_and_one_that_shares_it_is_not(
    workers: WarmPool, tmp_path: Path
) -> None:
    backend = backend_of(tmp_path, PROGRAM, workers)
    spec = replace(gang("eat", memory_bytes=2**28), api_url=API_URL)
    backend.launch(spec)
    status = ended(backend, spec)
    assert status.cause is Cause.OUT_OF_MEMORY
    # touched page by page: never more of it at a time than is held
    held = "held = bytearray(2**27); [held.__setitem__(i, 1) for i in range(0, 2**27, 4096)]"
    shared = f"import os, time; {held}; print([os.fork() for _ in range(2)], flush=True)"
    spec = replace(gang("done", memory_bytes=2**28), api_url=API_URL)
    backend = backend_of(tmp_path, f"{shared}; time.sleep(1.5)", warm.ready(workers))
    backend.launch(spec)
    assert ended(backend, spec).phase is GangPhase.SUCCEEDED


def test_workers_that_wait_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    code = (
        "import os, signal; from pathlib import Path; from tests.backends import warm\n"
        f"found = warm.ready(warm.pool(Path({str(tmp_path)!r})))\n"
        "print(found._workers[0].process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    wait(lambda: start_time(int(done.stdout)) is None)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_went_bad_is_thrown_away_and_its_pod_starts_cold(
    workers: WarmPool, tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_pool, "ANSWER_S", 0.2)
    victim = workers._workers[0].process.pid
    os.kill(victim, number)
    backend = backend_of(tmp_path, PROGRAM, workers)
    spec = replace(gang("done"), api_url=API_URL)
    backend.launch(spec)
    assert ended(backend, spec).phase is GangPhase.SUCCEEDED
    assert start_time(victim) is None


@pytest.mark.slow
def test_workers_that_cannot_import_are_started_ever_less_often(tmp_path: Path) -> None:
    now = [0.0]
    pool = WarmPool(
        warm.LIGHT.replace("prepare", "prepare_badly"), warm.pool(tmp_path).environment, 1, tmp_path / "log",
        clock=lambda: now[0], pause_s=1.0,
    )  # fmt: skip
    began: list[float] = []
    for _ in range(16):
        pool.tend()
        if pool._workers:
            began.append(now[0])
            pool._workers[0].process.wait()
            pool.tend()
        now[0] += 1.0
    assert began == [1.0, 3.0, 7.0, 15.0]
    assert "libgomp" in (tmp_path / "log").read_text()
    assert not pool.take(tmp_path)


def test_the_pool_replaces_what_it_gave_away_once_the_pod_has_started(tmp_path: Path) -> None:
    now = [0.0]
    pool = warm.pool(tmp_path)
    pool.clock = lambda: now[0]
    warm.ready(pool)
    pool.pause_s = 5.0
    backend = backend_of(tmp_path, PROGRAM, pool)
    spec = replace(gang("done"), api_url=API_URL)
    backend.launch(spec)
    pool.tend()
    assert pool._workers == []
    now[0] += 5.0
    assert warm.ready(pool).n_ready == 1
    assert ended(backend, spec).phase is GangPhase.SUCCEEDED
    pool.close()


def test_code_that_may_mind_finding_libraries_imported_starts_cold() -> None:
    plain = gang("done")
    assert may_start_warm(plain)
    assert may_start_warm(replace(plain, model=ModelSpec("package", "model", package="code")))
    assert not may_start_warm(replace(plain, model=ModelSpec("script", "train.py", package="code")))
    assert not may_start_warm(replace(plain, model=ModelSpec("package", "model", package="code", environment="layer")))
    assert not may_start_warm(replace(plain, variables={"OMP_NUM_THREADS": "7"}))
    assert not may_start_warm(replace(plain, secrets={"HF_TOKEN": "x"}))


def test_pods_start_warm_only_where_a_fork_is_confined_like_a_new_program() -> None:
    best = Isolation(has_namespaces=True, has_own_user=True, has_landlock=True, has_filter=True)
    assert is_as_strict_as_a_cold_start(best)
    assert is_as_strict_as_a_cold_start(replace(best, has_own_user=False))
    assert is_as_strict_as_a_cold_start(replace(best, has_landlock=False))
    assert not is_as_strict_as_a_cold_start(replace(best, has_own_user=False, has_landlock=False))
    assert not is_as_strict_as_a_cold_start(replace(best, has_namespaces=False))
    assert not is_as_strict_as_a_cold_start(replace(best, has_filter=False))
