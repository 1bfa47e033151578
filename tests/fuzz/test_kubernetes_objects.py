# SPDX-License-Identifier: Apache-2.0
"""Whatever is written into objects of a Kubernetes cluster, every round is finished and every other job goes on.

Values keep the types that an API server insists on: labels and annotations are strings, times are times, counts are
integers, quantities are quantities; what a pod is made of never changes. All else may be changed, removed or copied.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.protocol import BackendUnavailableError
from mlhub.control.models import SchedulerState
from mlhub.jobs.models import Job
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.kubelet import Kubelet, node
from tests.backends.kubernetes.store import Key, Object
from tests.cast import make_cast
from tests.contract.test_backend import wait
from tests.control.worlds import World, state
from tests.fuzz.corruptions import chunks_of

pytestmark = [pytest.mark.chaos, pytest.mark.django_db]
KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
TEXTS = ["", "x", "{", "null", "[]", "-1", "NaN", "\u202e", "x" * 5000, '{"version": 99}', "true", "1e999", "ready"]
TIMES = ["0001-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
QUANTITIES = ["0", "-5", "1e30", "999999999999Ti", "3n", "1"]
PATIENCE_S = 180.0  # of a busy machine; what is waited for takes a second
NUMBERS = [0, 1, -1, 75, 137, 2**31 - 1, -(2**31)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    found = ApiServer(rules=RULES)
    Kubelet(found.store)
    see = found.store.on_pod

    def see_what_can_be_read(pod: Object) -> None:
        """A node's kubelet has its own copy of a pod, and no request fails because of it."""
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            see(pod)

    found.store.on_pod = see_what_can_be_read
    for name in ("node-1", "node-2"):
        found.store.create("nodes", "", node(name))
    yield found
    found.stop()


@pytest.fixture
def backend(server: ApiServer, tmp_path: Path) -> Iterator[KubernetesBackend]:
    found = KubernetesBackend.connect(KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path)))
    yield found
    found.close()


@pytest.mark.parametrize(("seed", "n_examples"), chunks_of(0.1))
def test_no_object_of_a_kubernetes_cluster_loses_a_round(
    server: ApiServer, backend: KubernetesBackend, seed: int, n_examples: int
) -> None:
    world = World(make_cast(), backend=backend)  # type: ignore[arg-type]
    well = world.job(name="well", hyperparameters={"behave": "run"}, max_workers=1)
    _until_running(world, well)
    own = set(server.store.objects)
    dice = random.Random(19_000 + seed)
    for number in range(n_examples):
        sick = world.job(name=f"sick {number}", hyperparameters={"behave": "run"}, max_workers=1)
        _until_running(world, sick)
        example = _corrupt(dice, server, own)
        for _ in range(2):
            record = world.loop.round_or_record_failure()
            stored = SchedulerState.objects.get(pk=1)
            assert record is not None, f"{stored.error} {stored.backend_message} {example}"
            assert record.error == "", example
        assert state(well) == "running", example
        _clear(world, server, own, sick)
    world.round()
    assert state(well) == "running"


def _n_observed(world: World) -> int | None:
    """None while the API server cannot be reached, which costs a round and no more."""
    try:
        return len(world.backend.observe())
    except BackendUnavailableError:
        return None


def _until_running(world: World, job: Job) -> None:
    def look() -> bool:
        world.round()
        return state(job) == "running"

    wait(look, seconds=PATIENCE_S)


def _corrupt(dice: random.Random, server: ApiServer, own: set[Key]) -> str:
    """Changes or copies one object that is not of the job that is well, or a node that it is not on."""
    with server.store.changed:
        there = [key for key in server.store.objects if key not in own and key[0] != "nodes"]
        key = dice.choice([*there, ("nodes", "", "node-9")])
        if key[0] == "nodes":
            server.store.objects.pop(key, None)
            server.store.create("nodes", "", node("node-9"))
        before = server.store.objects[key]
        changed = _changed(dice, before)
        if key[0] == "services" and dice.random() < 0.3:
            key = (key[0], key[1], f"copy-{dice.randrange(10**6)}")
            changed["metadata"] |= {"name": key[2]}
            server.store.create(key[0], key[1], changed)
        else:
            server.store._write(key, changed, "MODIFIED", before)
    return f"{key}: {changed}"[:3000]


def _changed(dice: random.Random, found: Object) -> Object:
    changed = copy.deepcopy(found)
    for _ in range(dice.randrange(1, 4)):
        places = list(_places(changed, ()))
        container, key, path = dice.choice(places)
        if dice.random() < 0.3 and isinstance(container, dict):
            del container[key]
        else:
            container[key] = _other(dice, container[key], path)
    return changed


def _places(value: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
    """Every (container, key, path) below metadata and status, but for those that the API server sets itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        here = (*path, str(key))
        if len(here) == 1 and key not in ("metadata", "status"):
            continue
        if here[0] == "metadata" and ((len(here) == 2 and key in KEPT) or len(here) == 1):
            yield from _places(inner, here) if len(here) == 1 else ()
            continue
        yield value, key, here
        yield from _places(inner, here)


def _other(dice: random.Random, value: Any, path: tuple[str, ...]) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice(NUMBERS)
    if isinstance(value, list):
        return dice.choice([[], [*value, *copy.deepcopy(value)]])
    if isinstance(value, dict):
        return {}
    if path[-1].endswith(("Time", "Timestamp", "At")):
        return dice.choice(TIMES)
    if {"allocatable", "capacity", "requests", "limits"} & set(path):
        return dice.choice(QUANTITIES)
    return dice.choice(TEXTS)


def _clear(world: World, server: ApiServer, own: set[Key], sick: Job) -> None:
    """Removes the job and all that is left of it, as an administrator would after looking at it."""
    sick.delete()
    with server.store.changed:
        for key in [key for key in server.store.objects if key not in own]:
            server.store._erase(key, server.store.objects[key])
    wait(lambda: _n_observed(world) == 1, seconds=PATIENCE_S)
