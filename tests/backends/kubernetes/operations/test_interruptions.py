# SPDX-License-Identifier: Apache-2.0
"""The process dies after each of its writes in turn; the next process finishes the launch, the stop, the removal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.protocol import GangPhase
from mlhub.wire.launch import LaunchSpec
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import of, ours, pods, reach, wait
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.specs import gang

pytestmark = pytest.mark.slow

Connect = Callable[..., KubernetesBackend]


class Death(BaseException):
    """Nothing catches it: as when the process is killed."""


def dies_after(backend: KubernetesBackend, n_writes: int) -> list[str]:
    """Returns the list in which the writes that still got through are noted."""
    send = backend._api._send  # a death between two requests cannot be caused from outside of the process
    done: list[str] = []
    one_by_one = threading.Lock()  # pods are made by several threads

    def mortal(verb: str, path: str, **more: Any) -> bytes:
        if verb == "GET":
            return send(verb, path, **more)
        with one_by_one:
            if len(done) == n_writes:
                raise Death
            answer = send(verb, path, **more)
            done.append(f"{verb} {path}")
        return answer

    backend._api._send = mortal  # type: ignore[method-assign]
    return done


def survives(action: Callable[[], object]) -> bool:
    try:
        action()
    except Death:
        return False
    return True


def is_over(backend: KubernetesBackend, spec: LaunchSpec) -> bool:
    status = of(backend, spec)
    return status is None or status.phase.is_ended


def is_empty(server: ApiServer, backend: KubernetesBackend) -> bool:
    """Drops what has ended, as reconcile does in each round."""
    for status in backend.observe():
        if status.phase.is_ended:
            backend.stop(status.attempt_id, grace_s=0)
    return not ours(server)


def test_a_launch_that_dies_anywhere_is_completed_by_the_next_one(
    server: ApiServer, kubelet: Kubelet, connect: Connect
) -> None:
    n_writes, finished = 0, False
    while not finished:
        spec = gang(workers=2, servers=1)
        first = connect()
        first.inventory()
        dies_after(first, n_writes)
        finished = survives(partial(first.launch, spec))
        first.close()
        second = connect()
        second.launch(spec)
        assert len(pods(server)) == 3, n_writes
        assert reach(second, spec, GangPhase.RUNNING), n_writes
        second.stop(spec.attempt_id, grace_s=1)
        reach(second, spec, GangPhase.STOPPED)
        second.stop(spec.attempt_id, grace_s=0)
        assert ours(server) == [], n_writes
        second.close()
        n_writes += 1
    assert n_writes > 10


def test_a_launch_that_dies_and_is_not_wanted_any_more_leaves_nothing_behind(
    server: ApiServer, kubelet: Kubelet, connect: Connect
) -> None:
    n_writes, finished = 0, False
    while not finished:
        spec = gang(workers=2)
        first = connect()
        first.inventory()
        dies_after(first, n_writes)
        finished = survives(partial(first.launch, spec))
        first.close()
        second = connect(half_made_after_s=-1.0)
        for status in second.observe():  # as reconcile does with unknown gangs
            second.stop(status.attempt_id, grace_s=0)
        wait(partial(is_empty, server, second))
        second.close()
        n_writes += 1
    assert n_writes > 8


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_stop_that_dies_anywhere_is_finished_by_the_next_round(
    server: ApiServer, kubelet: Kubelet, connect: Connect, has_ended: bool
) -> None:
    n_writes, finished = 0, False
    while not finished:
        spec = gang("done" if has_ended else "run", workers=2)
        first = connect()
        first.launch(spec)
        if has_ended:
            reach(first, spec, GangPhase.SUCCEEDED)
        dies_after(first, n_writes)
        finished = survives(partial(first.stop, spec.attempt_id, grace_s=1))
        first.close()
        second = connect()
        status = of(second, spec)
        if status is not None and status.phase is GangPhase.RUNNING:
            second.stop(spec.attempt_id, grace_s=1)  # it did not even get to write it down
        wait(partial(is_over, second, spec))
        second.stop(spec.attempt_id, grace_s=0)
        assert ours(server) == [], n_writes
        second.close()
        n_writes += 1
    assert n_writes >= (3 if not has_ended else 8)
