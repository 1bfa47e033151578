# SPDX-License-Identifier: Apache-2.0
"""The process that only decides: tasks in, answers out, over one connection. Loads the scheduler and no Django."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from mlhub.wire.priority import step_back
from scheduler import ClusterSnapshot, Plan, Policy, RoundCache, RoundMemory, decide
from scheduler.commands.garbage_collection import collection_between_rounds
from scheduler.counterfactuals import Counsel, TenantPart, advise

ORPHAN_GRACE_S = 5.0  # past the limit, it ends itself: the caller may be gone
MAX_MESSAGE = 2000


@dataclass(frozen=True)
class DecisionRequest:
    """counsel_for: a job for which counterfactuals are wanted with the plan, as far as half of the limit allows.

    counsel_part: of its tenant, of which it is, where that has no rules of its own.
    """

    snapshot: ClusterSnapshot
    policy: Policy
    memory: RoundMemory
    limit_s: float
    counsel_for: str = ""
    counsel_part: TenantPart | None = None


@dataclass(frozen=True)
class DecisionResult:
    plan: Plan
    took_s: float
    counsel: Counsel | None = None


@dataclass(frozen=True)
class DecisionFailure:
    """The policy raised; message: what, and where."""

    message: str


DecisionAnswer = DecisionResult | DecisionFailure


def answer_to(task: DecisionRequest, cache: RoundCache) -> DecisionAnswer:
    """Returns a policy's bug as an answer too: it must not end the caller. cache: reused from request to request."""
    began = time.perf_counter()
    try:
        if task.counsel_for:
            return _counsel(task, cache, began_s=began)
        plan = decide(task.snapshot, policy=task.policy, memory=task.memory, cache=cache)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
        return DecisionFailure(f"{type(error).__name__}: {error}{where}"[:MAX_MESSAGE])
    return DecisionResult(plan, time.perf_counter() - began)


def _counsel(task: DecisionRequest, cache: RoundCache, *, began_s: float) -> DecisionResult:
    found = advise(
        task.snapshot,
        task.counsel_for,
        policy=task.policy,
        memory=task.memory,
        cache=cache,
        is_over=lambda: time.perf_counter() - began_s > task.limit_s / 2,
        part=task.counsel_part,
    )
    return DecisionResult(found.plan, time.perf_counter() - began_s, found)


def main(file_number: int, niceness: int) -> None:
    connection = Connection(file_number)
    step_back(niceness)
    with collection_between_rounds() as round_ended, contextlib.suppress(EOFError, OSError):  # the caller has gone
        connection.send("ready")
        cache = RoundCache()
        while True:
            connection.send(_next_answer(connection, cache))
            round_ended()  # looking for garbage took as long as a third of a round


def _next_answer(connection: Connection, cache: RoundCache) -> DecisionAnswer:
    raw = connection.recv_bytes()
    try:
        task = _task(raw)
    except Exception as error:  # a policy whose code this process cannot find
        return DecisionFailure(f"The task cannot be read: {type(error).__name__}: {error}"[:MAX_MESSAGE])
    signal.setitimer(signal.ITIMER_REAL, task.limit_s + ORPHAN_GRACE_S)
    answer = answer_to(task, cache)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return answer


def _task(raw: bytes) -> DecisionRequest:
    found: Any = pickle.loads(raw)  # noqa: S301 - from the process that started this one
    assert isinstance(found, DecisionRequest)
    return found
