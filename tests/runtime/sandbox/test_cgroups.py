# SPDX-License-Identifier: Apache-2.0
"""Control groups: what is written to limit a run, and what is read of its end."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mlhub.runtime.sandbox import cgroups
from mlhub.runtime.sandbox.cgroups import CONTROLLERS, ControlGroup, Events

LIMITS = {"memory_bytes": 2**30, "n_processes": 64, "n_cpus": 1.5}


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_version_2_limits_memory_without_swap_processes_and_processors(tmp_path: Path) -> None:
    group = ControlGroup(dict.fromkeys(CONTROLLERS, tmp_path), is_version_2=True)
    group.limit(**LIMITS)
    group.add(4321)
    assert written(tmp_path) == {
        "memory.max": "1073741824",
        "memory.swap.max": "0",
        "pids.max": "64",
        "cpu.max": "150000 100000",
        "cgroup.procs": "4321",
    }


def test_version_1_limits_the_same_in_three_folders(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in CONTROLLERS}
    for folder in folders.values():
        folder.mkdir()
    ControlGroup(folders, is_version_2=False).limit(**LIMITS)
    assert written(folders["memory"]) == {"memory.limit_in_bytes": "1073741824"}
    assert written(folders["cpu"]) == {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"}
    assert written(folders["pids"]) == {"pids.max": "64"}


def test_what_the_kernel_counted_is_read_in_both_versions(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\n")
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    (tmp_path / "pids.events").write_text("max 7\n")
    folders = dict.fromkeys(CONTROLLERS, tmp_path)
    assert ControlGroup(folders, is_version_2=True).events() == Events(n_killed_by_memory=1, n_forks_refused=7)
    assert ControlGroup(folders, is_version_2=False).events() == Events(n_killed_by_memory=3, n_forks_refused=7)
    assert ControlGroup({}, is_version_2=True).events() == Events()


def test_a_group_of_this_machine_takes_a_process_in_and_is_gone_afterwards() -> None:
    with cgroups.group(**LIMITS) as made:
        if made is None:  # this machine gives none away, and the report shows it
            assert cgroups.available_controllers() == ()
            return
        folders = set(made.folders.values())
        pid = os.fork()
        if pid == 0:
            os.read(os.pipe()[0], 1)
        made.add(pid)
        assert all(str(pid) in (folder / "cgroup.procs").read_text().split() for folder in folders)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    assert not any(folder.exists() for folder in folders)


class Kernel:
    """Groups of version 2 in plain folders: one with processes gives no limits to the groups in it."""

    def __init__(self, group: Path) -> None:
        self.group = group
        for name, text in {
            "cgroup.controllers": "cpu memory pids",
            "cgroup.subtree_control": "",
            "cgroup.procs": "",
        }.items():
            (group / name).write_text(text)

    def start(self, *pids: int) -> None:
        (self.group / "cgroup.procs").write_text("\n".join(map(str, pids)))

    def write(self, file: Path, text: str) -> None:
        processes = self.group / "cgroup.procs"
        if file == self.group / "cgroup.subtree_control":
            if processes.read_text():
                raise OSError(errno.EBUSY, "Device or resource busy")
            text = text.replace("+", "")
        elif file.name == "cgroup.procs":
            there = [pid for pid in processes.read_text().split() if pid != text]
            processes.write_text("\n".join(there))
            text = f"{file.read_text() if file.exists() else ''}{text}\n"
        file.write_text(text)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel(tmp_path)
    monkeypatch.setattr(cgroups, "_write", kernel.write)
    monkeypatch.setattr(cgroups, "_version_2_parents", lambda: [tmp_path])
    monkeypatch.setattr(cgroups, "_version_1_parents", dict)
    return kernel


def test_in_a_delegated_group_the_platforms_processes_make_room_for_limits(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLHUB_CGROUP", str(kernel.group))
    kernel.start(11, 12)
    made = cgroups._make()
    assert made is not None
    assert set(made.folders) == set(CONTROLLERS)
    assert (kernel.group / "mlhub-platform/cgroup.procs").read_text().split() == ["11", "12"]
    assert (kernel.group / "cgroup.subtree_control").read_text() == "cpu memory pids"


def test_processes_of_a_group_that_was_not_delegated_stay_where_they_are(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLHUB_CGROUP", raising=False)
    kernel.start(11, 12)
    assert cgroups._make() is None
    assert (kernel.group / "cgroup.procs").read_text().split() == ["11", "12"]
