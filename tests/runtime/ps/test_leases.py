# SPDX-License-Identifier: Apache-2.0
"""Leases of batches: each unit once an epoch, whichever worker dies or joins, and barriers that all workers reach."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.ps.leases import Backoff, BatchLease, LeasedWork, Leases, WaitAtBarrier


def play(leases: Leases, *, seed: int, deaths: dict[int, int], joins: dict[int, int], stop_at: int | None = None):
    """Workers take turns at random. deaths, joins: turn -> worker. Returns finished units and meetings."""
    dice = random.Random(seed)
    alive = set(range(leases.n_expected))
    for worker in alive:
        leases.arrive(worker)
    holds: dict[int, LeasedWork | None] = dict.fromkeys(alive)
    attending: set[int] = set()
    done: list[tuple[int, int]] = []
    meetings: list[WaitAtBarrier] = []

    def answered(answers: dict[int, LeasedWork | WaitAtBarrier]) -> None:
        for worker, answer in answers.items():
            attending.discard(worker)
            if isinstance(answer, WaitAtBarrier):
                assert not any(holds.values())
                if not meetings or meetings[-1] is not answer:
                    meetings.append(answer)
            else:
                holds[worker] = answer

    for turn in range(10_000):
        if turn in deaths and deaths[turn] in alive and len(alive) > 1:
            alive.discard(deaths[turn])
            holds[deaths[turn]] = None
            attending.discard(deaths[turn])
            answered(leases.leave(deaths[turn]))
        if turn in joins:
            alive.add(joins[turn])
            holds[joins[turn]] = None
        if meetings and (meetings[-1].step == leases.work.steps or meetings[-1].stop):
            return done, meetings
        ready = sorted(alive - attending)
        assert ready, "everybody waits for ever"
        worker = dice.choice(ready)
        unit = holds[worker]
        if unit is not None:
            done.append((unit.step, unit.part))
            holds[worker] = None
        answer = leases.ask(worker, stop=turn == stop_at)
        if isinstance(answer, Backoff):
            attending.add(worker)
            answered(leases.wait_at_barrier(worker, clock=turn))
        else:
            holds[worker] = answer
    raise AssertionError("it does not end")


WORK = st.builds(BatchLease, steps=st.just(12), steps_per_epoch=st.integers(1, 5), parts=st.integers(1, 3))


@given(WORK, st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_every_unit_is_done_once_and_all_meet_at_the_end_of_every_epoch(work: BatchLease, n: int, seed: int) -> None:
    done, meetings = play(Leases(work, n), seed=seed, deaths={}, joins={})
    assert sorted(done) == [(step, part) for step in range(work.steps) for part in range(work.parts)]
    ends = sorted({*range(work.steps_per_epoch, work.steps, work.steps_per_epoch), work.steps})
    assert [m.step for m in meetings] == ends


@given(WORK, st.integers(1, 4), st.integers(0, 99), st.integers(1, 11), st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_one_worker_warms_up_alone_in_order_and_all_meet_before_the_others_begin(
    work: BatchLease, n: int, seed: int, warmup: int, start: int
) -> None:
    work = replace(work, warmup_steps=warmup, start=start)
    leases, by = Leases(work, n), dict[int, set[int]]()
    ask = leases.ask

    def asked(worker: int, **more: bool) -> LeasedWork | Backoff:
        given = ask(worker, **more)
        if isinstance(given, LeasedWork):
            by.setdefault(given.step, set()).add(worker)
        return given

    leases.ask = asked  # type: ignore[method-assign]
    done, meetings = play(leases, seed=seed, deaths={}, joins={})
    units = [(step, part) for step in range(start, work.steps) for part in range(work.parts)]
    assert sorted(done) == units
    alone = max(0, warmup - start) * work.parts
    assert done[:alone] == units[:alone]
    assert all(workers == {0} for step, workers in by.items() if step < warmup)
    ends = {*range(0, work.steps, work.steps_per_epoch), work.steps, warmup}
    assert [m.step for m in meetings] == sorted(end for end in ends if end > start)


@given(WORK, st.integers(0, 99), st.dictionaries(st.integers(5, 60), st.integers(0, 2), max_size=2))
@settings(max_examples=50, deadline=None)
def test_when_the_worker_that_warms_up_dies_another_goes_on(
    work: BatchLease, seed: int, deaths: dict[int, int]
) -> None:
    done, meetings = play(Leases(replace(work, warmup_steps=8), 3), seed=seed, deaths=deaths, joins={30: 3})
    assert set(done) == {(step, part) for step in range(work.steps) for part in range(work.parts)}
    assert meetings[-1].step == work.steps


@given(WORK, st.integers(0, 99), st.dictionaries(st.integers(5, 60), st.integers(0, 2), max_size=2))
@settings(max_examples=50, deadline=None)
def test_what_a_dead_worker_had_taken_is_done_by_others(work: BatchLease, seed: int, deaths: dict[int, int]) -> None:
    done, meetings = play(Leases(work, 3), seed=seed, deaths=deaths, joins={30: 3})
    assert set(done) == {(step, part) for step in range(work.steps) for part in range(work.parts)}
    assert meetings[-1].step == work.steps


@given(WORK, st.integers(0, 99), st.integers(4, 30))
@settings(max_examples=50, deadline=None)
def test_a_wish_to_stop_ends_at_a_whole_step_with_everything_before_it_done(
    work: BatchLease, seed: int, turn: int
) -> None:
    done, meetings = play(Leases(work, 3), seed=seed, deaths={}, joins={}, stop_at=turn)
    last = meetings[-1].step
    assert sorted(done) == [(step, part) for step in range(last) for part in range(work.parts)]


def test_all_begin_once_everybody_is_there_who_lives() -> None:
    leases = Leases(BatchLease(steps=3, steps_per_epoch=3), 3)
    leases.arrive(0)
    leases.leave(1)
    assert not leases.is_begun
    leases.arrive(1)  # another in its place
    leases.leave(2)
    assert leases.is_begun
    assert [leases.ask(0), leases.ask(1)] == [LeasedWork(0, 0), LeasedWork(1, 0)]


def test_none_begins_when_all_have_gone() -> None:
    leases = Leases(BatchLease(steps=3, steps_per_epoch=3), 2)
    leases.leave(0)
    leases.leave(1)
    assert not leases.is_begun


def test_all_leave_a_barrier_with_a_clock_above_every_one_before() -> None:
    leases = Leases(BatchLease(steps=4, steps_per_epoch=2), 2)
    clocks = []
    for worker in (0, 1):
        leases.arrive(worker)
    for clock in (5, 9):
        for worker in (0, 1):
            leases.ask(worker)
        for worker in (0, 1):
            leases.wait_at_barrier(worker, clock=clock + worker)
        clocks.append(leases.clock)
    assert clocks == [7, 11]


def test_a_checkpoint_is_asked_for_once() -> None:
    leases = Leases(BatchLease(steps=9, steps_per_epoch=9, start=4), 1)
    leases.arrive(0)
    assert leases.ask(0) == LeasedWork(4, 0)
    assert leases.ask(0, checkpoint=True) == Backoff()
    assert leases.wait_at_barrier(0, clock=1) == {0: WaitAtBarrier(5, stop=False, checkpoint=True, members=(0,))}
    assert leases.ask(0) == LeasedWork(5, 0)


@pytest.mark.parametrize("start", [0, 7])
def test_a_resumed_training_goes_on_where_it_was(start: int) -> None:
    done, _ = play(Leases(BatchLease(12, 4, parts=2, start=start), 2), seed=0, deaths={}, joins={})
    assert min(done) == (start, 0)
