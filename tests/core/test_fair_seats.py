# SPDX-License-Identifier: Apache-2.0
"""Seats for costly requests: few at a time, tenants take turns, queues are short. Events decide the order, not time."""

from __future__ import annotations

import threading

import pytest

from mlhub.core.errors import RateLimitedError
from mlhub.core.rate_limits.fair_seats import QUEUE_LENGTH, SPARSE_S, TOTAL_LENGTH, FairSeats


class Request(threading.Thread):
    """Takes a seat, notes its flow, and holds the seat until it may end."""

    def __init__(self, seats: FairSeats, flow: str, order: list[str]) -> None:
        super().__init__(daemon=True)
        self.seats, self.flow, self.order = seats, flow, order
        self.is_seated, self.may_end = threading.Event(), threading.Event()

    def run(self) -> None:
        with self.seats.taken(self.flow):
            self.order.append(self.flow)
            self.is_seated.set()
            self.may_end.wait(120)

    def end(self) -> None:
        self.may_end.set()
        self.join(120)


def waiting(seats: FairSeats) -> int:
    return sum(len(flow.waiting) for flow in seats._flows.values())


def queued(seats: FairSeats, flow: str, order: list[str]) -> Request:
    """A request that has begun to wait."""
    before, request = waiting(seats), Request(seats, flow, order)
    request.start()
    pause = threading.Event()
    while waiting(seats) == before and not request.is_seated.is_set():
        pause.wait(0.005)
    return request


def test_the_tenant_that_was_served_least_recently_is_next_however_many_another_has_waiting():
    seats, order = FairSeats(1), []
    requests = [queued(seats, flow, order) for flow in ("a", "a", "a", "a", "b")]
    assert order == ["a"]
    for done in (0, 4, 1, 2, 3):
        assert requests[done].is_seated.wait(120)
        requests[done].end()
    assert order == ["a", "b", "a", "a", "a"]


def test_of_two_seats_each_tenant_gets_one():
    seats, order = FairSeats(2), []
    requests = [queued(seats, flow, order) for flow in ("a", "a", "a", "b")]
    assert order == ["a", "a"]
    requests[0].end()
    assert requests[3].is_seated.wait(120)
    assert order == ["a", "a", "b"]
    for request in requests:
        request.may_end.set()


def test_a_tenant_s_queue_is_short_and_another_s_has_room():
    seats, order = FairSeats(1), []
    requests = [queued(seats, "a", order) for _ in range(1 + QUEUE_LENGTH)]
    with pytest.raises(RateLimitedError) as refused, seats.taken("a"):
        pytest.fail("it got a seat")
    assert (refused.value.code, refused.value.facts["retry_after_s"]) == ("too_many_at_once", 1)
    requests.append(queued(seats, "b", order))
    assert waiting(seats) == QUEUE_LENGTH + 1
    for request in requests:
        request.may_end.set()


def test_all_queues_together_are_bounded_but_each_tenant_may_have_one_waiting():
    seats, order = FairSeats(1), []
    requests = [queued(seats, f"t{i // QUEUE_LENGTH}", order) for i in range(1 + TOTAL_LENGTH)]
    requests.append(queued(seats, "late", order))
    with pytest.raises(RateLimitedError), seats.taken("late"):
        pytest.fail("it got a seat")
    for request in requests:
        request.may_end.set()


def test_a_seat_is_free_again_after_an_error():
    seats = FairSeats(1)
    with pytest.raises(ZeroDivisionError), seats.taken("a"):
        raise ZeroDivisionError
    with seats.taken("a"):
        assert seats._n_running == 1
    assert seats._n_running == 0


def test_a_request_that_waited_too_long_is_refused_and_leaves_the_queue(monkeypatch):
    monkeypatch.setattr("mlhub.core.rate_limits.fair_seats.PATIENCE_S", 0.0)
    seats = FairSeats(1)
    with seats.taken("a"):
        with pytest.raises(RateLimitedError), seats.taken("b"):
            pytest.fail("there is one seat")
        assert waiting(seats) == 0
    with seats.taken("b"):
        pass


def test_a_tenant_that_sends_few_goes_ahead_of_those_that_send_many():
    now = [0.0]
    seats = FairSeats(1, clock=lambda: now[0])
    with seats.taken("busy"):
        with seats.passing("busy") as is_passing:
            assert not is_passing
        with seats.passing("few") as is_passing, seats.passing("another") as is_second:
            assert (is_passing, is_second) == (True, False)
        now[0] += SPARSE_S / 2
        with seats.passing("few") as is_passing:
            assert not is_passing
        now[0] += SPARSE_S / 2
        with seats.passing("few") as is_passing:
            assert is_passing
    with seats.passing("busy") as is_passing:
        assert not is_passing
