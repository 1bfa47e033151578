# SPDX-License-Identifier: Apache-2.0
"""Pipelines' plans: how long workers are idle, how much they keep, and which numbers of micro-batches they take."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn
from torch.distributed.pipelining.schedules import _Action, _ComputationType

from mlhub.runtime.strategies.catalogue.schema import micro_batches_fit, parse
from mlhub.runtime.strategies.model_parallel.pipeline_schedules import OF_ONE, OF_SEVERAL, Ordering, replicas_for

FORWARD, BACKWARD = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD
OF_INPUT, OF_WEIGHT = _ComputationType.BACKWARD_INPUT, _ComputationType.BACKWARD_WEIGHT
TAKES = {FORWARD: 1, BACKWARD: 2, OF_INPUT: 1, OF_WEIGHT: 1}  # a backward pass is both of its halves


def ordering(schedule: str, p: int, per_worker: int = 2) -> Ordering:
    given = {"stages_per_worker": per_worker} if schedule.startswith("interleaved") else {}
    micro_batches = 2 * p if schedule == "dualpipe_v" else 4
    spec = parse({"name": "pipeline", "schedule": schedule, "micro_batches": micro_batches, **given})
    return Ordering.of(spec, n_workers=p)


class Stage:
    """As much of a stage as schedules need to plan, or to be carried out without computing: it notes what it does."""

    has_backward = True

    def __init__(self, found: Ordering, k: int) -> None:
        self.group_size, self.group_rank, self.num_stages = found.n_workers, found.holders[k], found.n_stages
        self.stage_index, self.is_first, self.is_last = k, k == 0, k == found.n_stages - 1
        self.submod, self.stage_index_to_group_rank = nn.Identity(), dict(enumerate(found.holders))
        self.done: list[_Action] = []

    def forward_one_chunk(self, index: int, *_: object, **__: object) -> None:
        self.done.append(_Action(self.stage_index, FORWARD, index))

    def backward_one_chunk(self, index: int, **_: object) -> None:
        self.done.append(_Action(self.stage_index, BACKWARD, index))

    def nothing_to_send(self, _: int) -> list[object]:
        return []

    get_fwd_recv_ops = get_fwd_send_ops = get_bwd_recv_ops = get_bwd_send_ops = perform_reduce_grad = nothing_to_send


def stages_of(found: Ordering, rank: int) -> list[Any]:
    return [Stage(found, k) for k in range(found.n_stages) if found.holders[k] == rank]


def plan(found: Ordering, m: int) -> dict[int, list[_Action]]:
    """By worker, its actions in order, without those that only communicate."""
    if found.schedule in OF_ONE:
        return {rank: carried_out(found, rank, m) for rank in range(found.n_workers)}
    order = found.build(stages_of(found, 0), m, lambda outputs, targets: 0).pipeline_order
    assert order is not None
    out: dict[int, list[_Action]] = {}
    for rank, actions in order.items():
        there = [action for action in actions if action is not None]
        single = [part for action in there for part in (action.sub_actions or [action])]
        out[rank] = [action for action in single if action.computation_type in TAKES]
    return out


def carried_out(found: Ordering, rank: int, m: int) -> list[_Action]:
    """Schedules of one stage a worker have no plan that they follow: they are run."""
    (stage,) = stages_of(found, rank)
    made: Any = found.build([stage], m, lambda outputs, targets: 0)
    # torch has no public way to run a schedule without a process group
    made._initialize_stage = lambda *_: None
    made._step_microbatches(target_mbs=[0] * m)
    done: list[_Action] = stage.done
    return done


def timeline(actions: dict[int, list[_Action]], n_stages: int) -> int:
    """When the last action ends if each begins as soon as its worker is free and what it needs is there."""
    ends: dict[tuple[Any, int, int], int] = {}
    at, free = dict.fromkeys(actions, 0), dict.fromkeys(actions, 0)

    def needed(action: _Action) -> list[tuple[Any, int, int]]:
        stage, kind, index = action.stage_index, action.computation_type, action.microbatch_index
        if kind is FORWARD:
            return [("there", stage - 1, index)] if stage else []
        if kind is OF_WEIGHT:
            return [("back", stage, index)]
        return [("there", stage, index)] + ([("back", stage + 1, index)] if stage < n_stages - 1 else [])

    while any(at[rank] < len(actions[rank]) for rank in actions):
        moved = False
        for rank, todo in actions.items():
            while at[rank] < len(todo) and all(key in ends for key in needed(todo[at[rank]])):
                action = todo[at[rank]]
                begins = max([free[rank], *(ends[key] for key in needed(action))])
                free[rank] = begins + TAKES[action.computation_type]
                word = {FORWARD: "there", OF_WEIGHT: "weights"}.get(action.computation_type, "back")
                ends[word, action.stage_index, action.microbatch_index] = free[rank]
                at[rank], moved = at[rank] + 1, True
        assert moved, "each waits for another"
    return max(free.values())


def bubble(schedule: str, *, p: int, m: int, per_worker: int = 2) -> float:
    """The part of all workers' time in which they are idle."""
    found = ordering(schedule, p, per_worker)
    actions = plan(found, m)
    busy = sum(TAKES[action.computation_type] for todo in actions.values() for action in todo)
    assert busy == 3 * m * found.n_stages  # every micro-batch goes there and back through every stage
    return 1.0 - busy / (p * timeline(actions, found.n_stages))


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("p", "m"), [(2, 2), (2, 8), (3, 4), (4, 4), (4, 12)])
def test_a_pipeline_is_idle_for_as_long_as_the_papers_say(schedule: str, p: int, m: int) -> None:
    assert bubble(schedule, p=p, m=m) == pytest.approx((p - 1) / (m + p - 1))


@pytest.mark.parametrize(("p", "m", "per_worker"), [(2, 4, 2), (2, 8, 3), (4, 4, 2), (4, 8, 2), (3, 6, 4)])
def test_several_stages_a_worker_make_the_bubble_so_many_times_smaller(p: int, m: int, per_worker: int) -> None:
    found = bubble("interleaved_1f1b", p=p, m=m, per_worker=per_worker)
    assert found == pytest.approx((p - 1) / (per_worker * m + p - 1))


@pytest.mark.parametrize("schedule", ["interleaved_zero_bubble", "zero_bubble_v", "dualpipe_v"])
@pytest.mark.parametrize(("p", "m"), [(2, 8), (4, 8), (4, 16)])
def test_a_backward_pass_in_two_halves_fills_two_thirds_of_what_is_left(schedule: str, p: int, m: int) -> None:
    """With two stages a worker, and forward, backward to the input and to the weights of equal length."""
    assert bubble(schedule, p=p, m=m) == pytest.approx((p - 1) / (3 * 2 * m + p - 1))


@pytest.mark.parametrize(("schedule", "kept"), [("gpipe", 8), ("1f1b", 3)])
def test_gpipe_keeps_all_micro_batches_and_1f1b_one_a_stage(schedule: str, kept: int) -> None:
    under_way, most = 0, 0
    for action in plan(ordering(schedule, 3), 8)[0]:
        under_way += 1 if action.computation_type is FORWARD else -1
        most = max(most, under_way)
    assert most == kept


@pytest.mark.parametrize("schedule", OF_SEVERAL)
@pytest.mark.parametrize("p", [2, 3, 4])
def test_what_is_checked_beforehand_is_what_torch_takes(schedule: str, p: int) -> None:
    found = ordering(schedule, p)
    for m in range(1, 14):
        if micro_batches_fit(schedule, n_workers=p, n=m):
            assert timeline(plan(found, m), found.n_stages) > 0
        else:
            with pytest.raises(ValueError, match="microbatches"):
                OF_SEVERAL[schedule](stages_of(found, 0), m, loss_fn=lambda outputs, targets: 0)


def test_a_batch_is_cut_as_finely_as_it_divides_and_the_schedule_takes() -> None:
    assert ordering("1f1b", 2).micro_batches(wanted=4, n_examples=6) == 3
    assert ordering("interleaved_1f1b", 2).micro_batches(wanted=10, n_examples=10) == 10
    assert ordering("interleaved_1f1b", 3).micro_batches(wanted=7, n_examples=7) == 1  # 7 are no two rounds of three
    assert ordering("dualpipe_v", 2).micro_batches(wanted=4, n_examples=3) == 3  # too few: by the other schedule in a V
    assert ordering("dualpipe_v", 1).micro_batches(wanted=4, n_examples=8) == 4


def test_workers_stand_in_as_many_rows_as_asked_or_as_can_be_filled() -> None:
    def rows(n_workers: int, wanted: int, most_stages: int = 4) -> int:
        spec = parse({"name": "pipeline", "replicas": wanted})
        return replicas_for(spec, n_workers=n_workers, most_stages=most_stages)

    assert [rows(n, 1) for n in (1, 4, 6)] == [1, 1, 1]  # what cannot be filled is refused then
    assert [rows(n, 2) for n in (1, 2, 3, 4, 5, 6, 8)] == [1, 2, 1, 2, 5, 2, 2]
    assert rows(6, 2, most_stages=1) == 6


def test_worker_0_of_a_v_holds_both_ends() -> None:
    assert ordering("zero_bubble_v", 3).holders == [0, 1, 2, 2, 1, 0]
    assert ordering("interleaved_1f1b", 3).holders == [0, 1, 2, 0, 1, 2]
    assert ordering("1f1b", 3).holders == [0, 1, 2]
    assert ordering("dualpipe_v", 1).holders == [0]
