# SPDX-License-Identifier: Apache-2.0
"""Control groups: what is written to limit a run, and what is read of its end."""

from __future__ import annotations

import os
from pathlib import Path

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
