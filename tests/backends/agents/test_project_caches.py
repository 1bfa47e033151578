# SPDX-License-Identifier: Apache-2.0
"""What pods leave in their project's cache holds up neither the agent nor the caches of other projects."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlhub.agent import project_caches
from mlhub.agent.project_caches import ProjectCaches
from mlhub.backends.agents.messages import MOST_HASHES, DeletedCaches
from mlhub.wire.trees import remove_tree
from tests.runtime.sandbox.ordinary_user import run

HOSTILE, OTHER = (f"018f0000-0000-7000-8000-0000000000{end}" for end in ("aa", "bb"))
GONE = "b" * 64


class Platform:
    """Answers that these projects and inputs are gone."""

    def __init__(self, *projects: str, inputs: Mapping[str, Collection[str]] = {}) -> None:
        self.answer = DeletedCaches(frozenset(projects), {p: frozenset(found) for p, found in inputs.items()})
        self.asked: list[tuple[list[str], dict[str, list[str]]]] = []

    def caches(self, instance: str, projects: list[str], inputs: dict[str, list[str]]) -> DeletedCaches:
        self.asked.append((projects, inputs))
        return self.answer


def tend_until_removed(folder: Path, platform: Any, *, rounds: int = 3) -> None:
    """As the agent's loop does, round after round."""
    caches = ProjectCaches(folder, platform, instance="it", used=list)
    for _ in range(rounds):
        caches.tend()
        until = time.monotonic() + 60
        while caches._thread is not None and caches._thread.is_alive():  # no event says when a look is over
            assert time.monotonic() < until
            time.sleep(0.01)
        caches._next_s = 0.0
    caches.tend()


def entry(folder: Path, project: str, name: str) -> Path:
    found = folder / project / name
    found.mkdir(parents=True)
    (found / "data").write_bytes(b"data")
    return found


def test_a_cache_of_which_a_part_could_not_be_removed_is_removed_when_it_is_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry(tmp_path, HOSTILE, f"{GONE}.input")
    monkeypatch.setattr(project_caches, "remove_tree", lambda path: None)
    tend_until_removed(tmp_path, Platform(HOSTILE))
    entry(tmp_path, HOSTILE, f"{GONE}.input")
    tend_until_removed(tmp_path, Platform(HOSTILE))
    assert not (tmp_path / HOSTILE).exists()
    monkeypatch.setattr(project_caches, "remove_tree", remove_tree)
    tend_until_removed(tmp_path, Platform())
    assert not list(tmp_path.iterdir())


def test_any_number_of_names_makes_one_request_of_a_project(tmp_path: Path) -> None:
    (tmp_path / HOSTILE).mkdir()
    for number in range(MOST_HASHES + 1):
        (tmp_path / HOSTILE / f"{number:064x}").touch()
    platform = Platform()
    tend_until_removed(tmp_path, platform, rounds=1)
    assert [len(inputs[HOSTILE]) for _, inputs in platform.asked] == [MOST_HASHES]


def test_a_folder_that_a_pod_closed_to_its_own_user_is_removed_and_holds_up_no_other() -> None:
    done = run("tests.backends.agents.closed_cache", "", timeout_s=120, drop=True)
    assert done.returncode == 0, done.stderr


def test_caches_of_all_projects_give_way_when_the_disk_is_nearly_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is room for four entries, and one must be free."""
    old, held, older, new = (entry(tmp_path, p, n) for p in (HOSTILE, OTHER) for n in ("a" * 64, GONE))
    for path, age_s in ((old, 50), (held, 99), (older, 90), (new, 1)):
        os.utime(path, (time.time() - age_s,) * 2)
    lock = os.open(held.with_name(f".{held.name}.lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_SH)  # as a pod does

    def disk_usage(folder: Path) -> Any:
        used = len(list(folder.glob("*/*/data")))
        return SimpleNamespace(total=20, used=5 * used, free=20 - 5 * used)

    monkeypatch.setattr(project_caches.shutil, "disk_usage", disk_usage)
    tend_until_removed(tmp_path, Platform())
    os.close(lock)
    assert [path.exists() for path in (old, held, older, new)] == [True, True, False, True]
