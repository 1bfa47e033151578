# SPDX-License-Identifier: Apache-2.0
"""Removes from this machine's caches what was deleted at the platform, which the agent asks now and then.

A thread asks and removes, so that neither a slow platform nor a large folder holds up the agent; only the loop, which
starts pods, sets folders aside.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from uuid import UUID

from mlhub.agent.platform_api import AgentRefusedError, PlatformApi, PlatformAwayError
from mlhub.backends.agents.messages import MOST_HASHES, MOST_PROJECTS
from mlhub.runtime.data.node_cache import hashes_in, is_used, longest_unused_first, remove_entry, remove_unused
from mlhub.wire.trees import remove_tree, restore_rights

logger = logging.getLogger(__name__)
LOOK_EVERY_S, RETRY_S = 900.0, 60.0
FREE_PART = 0.1  # of the disk, which caches leave free
ASIDE = ".removed"  # ends the name of a project's folder that no pod gets any more


class ProjectCaches:
    """folder: has one of each project. used: the projects of all gangs that are on this machine."""

    def __init__(self, folder: Path, api: PlatformApi, *, instance: str, used: Callable[[], Collection[str]]) -> None:
        self._folder, self._api, self._instance, self._used = folder, api, instance, used
        self._thread: threading.Thread | None = None
        self._gone: set[str] = set()
        self._next_s = 0.0

    def tend(self) -> None:
        """Does not wait. To be called by the loop that starts pods."""
        if self._thread is not None and self._thread.is_alive():
            return
        gone, self._gone = self._gone, set()
        if gone and self._set_aside(gone):
            self._next_s = 0.0  # they are removed, and the platform learns that they are gone
        if time.monotonic() >= self._next_s:
            # not all machines at once that began at once
            self._next_s = time.monotonic() + random.uniform(0.8, 1.0) * LOOK_EVERY_S
            self._thread = threading.Thread(target=self._look, daemon=True, name="project-caches")
            self._thread.start()

    def _set_aside(self, projects: Collection[str]) -> int:
        used, n_aside = set(self._used()), 0
        for project in sorted(set(projects) - used):
            folder = self._folder / project
            try:
                if folder.is_dir() and not is_used(folder):
                    folder.rename(self._folder / f".{project}.{secrets.token_hex(4)}{ASIDE}")
                    logger.info("cache.removed project=%s", project)
                    n_aside += 1
            except OSError as error:  # the loop goes on, and so do the caches of others
                logger.warning("cache.not_removed folder=%s %s", folder, error)
        return n_aside

    def _look(self) -> None:
        try:
            for aside in self._folder.glob(f".*{ASIDE}"):
                remove_tree(aside)
            self._make_room()
            held = self._held()
            for projects, inputs in _requests(held):
                answer = self._api.caches(self._instance, projects, inputs)
                self._gone |= answer.projects & set(projects)
                for project, sha256s in answer.inputs.items():
                    if project in inputs and (n := remove_unused(self._folder / project, sha256s)):
                        logger.info("cache.inputs_removed project=%s entries=%d", project, n)
        except (PlatformAwayError, AgentRefusedError) as error:
            self._next_s = time.monotonic() + RETRY_S
            logger.debug("cache.not_asked %s", error)  # the loop says what is wrong
        except OSError as error:
            logger.warning("cache.not_removed folder=%s %s", self._folder, error)

    def _make_room(self) -> None:
        """Each cache has a bound, and all of them together give way to what jobs write."""
        if _free_part(self._folder) >= FREE_PART:
            return
        n_gone = 0
        for path in longest_unused_first(path for path in self._folder.iterdir() if _is_cache(path)):
            if _free_part(self._folder) >= FREE_PART:
                break
            n_gone += remove_entry(path)
        logger.info("cache.made_room entries=%d free=%.0f%%", n_gone, 100 * _free_part(self._folder))

    def _held(self) -> dict[str, list[str]]:
        """Hashes of inputs by project. One that is set aside and could not be removed is still there."""
        found: dict[str, list[str]] = {}
        for path in sorted(self._folder.iterdir()):
            is_aside = path.name.startswith(".") and path.name.endswith(ASIDE)
            project = path.name[1:].split(".")[0] if is_aside else path.name
            if _is_id(project) and not path.is_symlink():
                found.setdefault(project, [])
                if not is_aside:
                    found[project] = _some_hashes_in(path)
        if len(found) > MOST_PROJECTS:  # another part of them each time
            return {project: found[project] for project in random.sample(sorted(found), MOST_PROJECTS)}
        return found


def _requests(held: Mapping[str, Collection[str]]) -> Iterator[tuple[list[str], dict[str, list[str]]]]:
    """Each with all projects and a part of the hashes; one at least, which says that nothing is held."""
    pairs = [(project, sha256) for project, sha256s in held.items() for sha256 in sha256s]
    for start in range(0, max(1, len(pairs)), MOST_HASHES):
        inputs: dict[str, list[str]] = {}
        for project, sha256 in pairs[start : start + MOST_HASHES]:
            inputs.setdefault(project, []).append(sha256)
        yield sorted(held), inputs


def _some_hashes_in(folder: Path) -> list[str]:
    """Of as many inputs as one request takes, others each time: a pod may leave any number of names, and a folder that
    its owner cannot read before its rights are restored."""
    try:
        found = sorted(hashes_in(folder))
    except OSError as error:
        logger.warning("cache.not_read folder=%s %s", folder, error)
        restore_rights(folder)
        return []
    return found if len(found) <= MOST_HASHES else sorted(random.sample(found, MOST_HASHES))


def _free_part(folder: Path) -> float:
    disk = shutil.disk_usage(folder)
    return disk.free / disk.total


def _is_cache(path: Path) -> bool:
    """Whether it is a project's folder that this user can read."""
    return _is_id(path.name) and path.is_dir() and not path.is_symlink() and os.access(path, os.R_OK | os.X_OK)


def _is_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
