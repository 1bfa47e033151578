# SPDX-License-Identifier: Apache-2.0
"""What a pod uses of its machine: counted over all its processes, sampled into a file, bounded in number."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.usage import network, sampler
from mlhub.runtime.usage.network import recorded, recorded_bytes
from mlhub.runtime.usage.processes import ProcessUse, use_of
from mlhub.runtime.usage.sampler import UsageSampler
from mlhub.wire.resource_usage import MAX_SAMPLES, RESOURCES, accepted, interval_s

HELD_BYTES = 64 * 2**20
# its child computes for 0.3 s of processor time and ends; then it holds memory and says so
BUSY_PARENT = f"""
import subprocess, sys, time
busy = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", busy], check=True)
held = bytearray({HELD_BYTES})
held[::4096] = b"x" * len(held[::4096])
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    """The program, once it has written a line."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate()


def until(condition: Any) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def test_processes_count_with_what_they_started_and_with_children_that_have_ended() -> None:
    before = use_of(os.getpid())
    with running(BUSY_PARENT) as process:
        alone, family = use_of(process.pid), use_of(os.getpid())
    assert alone.cpu_s >= 0.3
    assert HELD_BYTES <= alone.memory_bytes <= HELD_BYTES + 64 * 2**20
    assert family.cpu_s - before.cpu_s >= alone.cpu_s
    assert family.memory_bytes >= before.memory_bytes + HELD_BYTES


def test_the_time_of_a_process_that_has_ended_is_not_gone_until_its_parent_knows() -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    process = subprocess.Popen([sys.executable, "-c", busy])
    until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    ended = use_of(os.getpid())
    process.wait()
    known = use_of(os.getpid())
    assert known.cpu_s - ended.cpu_s < 0.4, "it was counted before"


def test_no_more_cpus_are_busy_than_there_are() -> None:
    before = sampler.Reading(10.0, ProcessUse(0.0, 0, 0, 0), None)
    now = sampler.Reading(10.1, ProcessUse(1000.0, 0, 0, 0), None)
    assert now.since(before).values["cpus"] == os.cpu_count()


def test_a_process_that_is_gone_uses_nothing() -> None:
    process = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    assert use_of(int(process.stdout)).cpu_s == 0


def test_bytes_of_connections_are_recorded_for_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "RECORD_EVERY_S", 0.01)
    path = tmp_path / "traffic"
    assert recorded_bytes(path) is None
    server = socket.create_server(("127.0.0.1", 0))
    with server, recorded(path):
        until(lambda: recorded_bytes(path) is not None)
        ours = socket.create_connection(server.getsockname())
        its, _ = server.accept()
        with ours, its:
            reader = threading.Thread(target=lambda: its.recv(200_000, socket.MSG_WAITALL))
            reader.start()
            ours.sendall(bytes(200_000))
            reader.join()
            # both ends are this process's
            until(lambda: min(recorded_bytes(path) or (0, 0)) >= 200_000)
    path.write_text("half a rec")
    assert recorded_bytes(path) is None


def test_a_pod_is_sampled_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "interval_s", lambda _: 0.05)
    path = tmp_path / "usage.jsonl"
    found = UsageSampler(path, traffic=tmp_path / "traffic")
    found.start()
    until(lambda: path.exists() and len(path.read_text().splitlines()) >= 3)
    found.end()
    *samples, last = [json.loads(line) for line in path.read_text().splitlines()]
    for sample in samples:
        assert accepted(sample["values"]) == sample["values"]
        assert sample["interval_s"] >= 0.05
        assert {"cpus", "memory_bytes", "read_bytes_per_s", "written_bytes_per_s"} <= sample["values"].keys()
        assert sample["values"]["memory_bytes"] > 0
    assert last["values"].keys() == {"cpus"}


def test_a_full_disk_ends_the_samples_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "interval_s", lambda _: 0.01)
    found = UsageSampler(Path("/dev/full"), traffic=tmp_path / "traffic")
    found.start()
    found.join(timeout=120)
    assert not found.is_alive()


def test_samples_come_seldom_enough_to_be_bounded_and_often_enough_for_a_short_job() -> None:
    assert interval_s(0) == 2.0
    assert interval_s(300) == 4.0
    assert sum(interval_s(n) for n in range(MAX_SAMPLES)) > 365 * 86_400


def test_values_that_cannot_be_true_are_not_accepted() -> None:
    assert accepted(
        {"cpus": 1.5, "memory_bytes": -1, "gpu_utilisation": 1.2, "warmth": 3, "read_bytes_per_s": "5"}
    ) == {"cpus": 1.5}
    assert all(resource.about.endswith(".") for resource in RESOURCES.values())
