# SPDX-License-Identifier: Apache-2.0
"""Rows of exchanges with parameter servers: against the bare wire, against themselves, against other transports.

All sides of a comparison are alive at once and take turns, an exchange each and round by round, in an order that moves
on; a ratio is made within a round, so that what else the machine does slows both alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial

from benchmarks.training_exchanges import (
    Side,
    all_reduce,
    by_torch,
    echo,
    one_after_the_other,
    our_client,
    our_workers,
    timed,
    zeromq,
)
from benchmarks.training_turns import spread
from mlhub.runtime.ps.client.client import Client

LARGE, SMALL = 25_000_000, 10_000  # parameters
N_ROUNDS, N_SMALL_ROUNDS, BURST, SEVERAL = 15, 40, 20, 2
HEADS = ("what", "median", "against", "median", "ratio, round by round", "of bests", "goal")
Times = Mapping[str, list[float]]


def in_turn(sides: Mapping[str, Side], *, n_rounds: int, burst: int = 1) -> Times:
    """By side, the seconds of each round: the median of a burst of exchanges. One round more warms up."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for i in range(n_rounds + 1):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            seconds = statistics.median(sides[name]() for _ in range(burst))
            if i:
                times[name].append(seconds)
    return times


def exchange_rows(zeromq_python: str | None) -> Iterator[str]:
    """Of one worker and one server. zeromq_python: an interpreter with pyzmq."""
    for n, size, n_rounds, burst in ((LARGE, "25 M", N_ROUNDS, 1), (SMALL, "10 k", N_SMALL_ROUNDS, BURST)):
        is_large = n == LARGE
        with ExitStack() as stack:
            ours = stack.enter_context(our_client(n))
            near = stack.enter_context(our_client(n, tcp_only=False))
            shared = stack.enter_context(our_client(n, tcp_only=False, shares=True))
            encrypted = stack.enter_context(our_client(n, is_encrypted=True))
            sides: dict[str, Side] = {
                "ours": partial(timed, ours.exchange),
                "near": partial(timed, near.exchange),
                "shared": partial(timed, shared.exchange),
                "wire": stack.enter_context(echo(4 * n if is_large else 4)),
                "tls": partial(timed, encrypted.exchange),
                "gloo": stack.enter_context(by_torch("gloo", n)),
                "rpc": stack.enter_context(by_torch("rpc", n)),
            }
            if is_large:
                sides["in order"] = stack.enter_context(one_after_the_other(n))
                sides["halves"] = partial(timed, partial(_push_then_pull, ours))
            if zeromq_python is not None:
                sides["zeromq"] = stack.enter_context(zeromq(zeromq_python, n))
            times = in_turn(sides, n_rounds=n_rounds, burst=burst)
        what = f"push + SGD + pull, {size} parameters"
        if is_large:
            yield _row(what, times, "ours", "100 MB there and back, on the bare wire", "wire", "≤ 1.3")
            yield _row(what, times, "ours", "all of a push received, then SGD, then all sent", "in order", "≤ 0.7")
            yield _row(what, times, "ours", "ours in two calls: push (updated on the way), then pull", "halves")
        else:
            yield _row(what, times, "ours", "4 bytes there and back, on the bare wire", "wire", "≤ 4")
        yield _row(what, times, "ours", "gloo isend and irecv", "gloo", "≤ 1")
        yield _row(what, times, "ours", "torch RPC over TCP", "rpc", "≤ 1")
        if "zeromq" in times:
            yield _row(what, times, "ours", "ZeroMQ", "zeromq", "≤ 1")
        yield _row(f"{what}, by a unix socket", times, "near", "by TCP", "ours")
        yield _row(f"{what}, in shared memory", times, "shared", "by TCP", "ours")
        yield _row(f"{what}, over TLS 1.3", times, "tls", "in the clear", "ours", "≤ 5")


def gang_rows() -> Iterator[str]:
    """Of several workers and servers."""
    with ExitStack() as stack:
        bsp = stack.enter_context(our_workers(LARGE, n_workers=2, n_shards=1, strategy="bsp"))
        near = stack.enter_context(
            our_workers(LARGE, n_workers=2, n_shards=1, strategy="bsp", tcp_only=False, shares=True)
        )
        ranks = stack.enter_context(all_reduce(LARGE, 2))
        sides: dict[str, Side] = {"bsp": lambda: bsp(1), "near": lambda: near(1), "all-reduce": lambda: ranks()[0]}
        times = in_turn(sides, n_rounds=N_ROUNDS)
    what, against = "BSP on one server, 2 workers, 25 M", "gloo's all-reduce of 2 ranks"
    yield _row(f"{what}, in shared memory, as a gang on one machine", times, "near", against, "all-reduce", "≤ 2")
    yield _row(f"{what}, by TCP", times, "bsp", against, "all-reduce", "≤ 2")
    with ExitStack() as stack:
        shapes = ((1, 1), (2, 1), (4, 2))
        gangs = {
            (w, s): stack.enter_context(our_workers(LARGE, n_workers=w, n_shards=s, strategy="asp")) for w, s in shapes
        }
        sides = {str(s): partial(_an_exchange, gang, n_workers=s[0]) for s, gang in gangs.items()}
        times = in_turn(sides, n_rounds=max(3, N_ROUNDS // 3))
    for shape in shapes[1:]:
        what = f"one exchange of 25 M, of {shape[0]} workers' at once, {shape[1]} shards"
        yield _row(what, times, str(shape), "1 worker, 1 shard", str(shapes[0]))


def _push_then_pull(client: Client) -> None:
    client.push()
    client.pull()


def _an_exchange(gang: Callable[[int], float], *, n_workers: int) -> float:
    """Seconds for one, when all make some at once."""
    return gang(SEVERAL) / (SEVERAL * n_workers)


def bytes_row(n: int, n_ranks: int) -> str:
    """What a rank of an all-reduce of n float32 sends."""
    theory = 2 * 4 * n * (n_ranks - 1) / n_ranks
    with all_reduce(n, n_ranks) as once:
        sent = statistics.median(once()[1] for _ in range(3))
    return f"| all-reduce, {n_ranks} workers | {sent / 1e6:.2f} MB | {theory / 1e6:.2f} MB | {sent / theory:.3f} |"


def _row(what: str, times: Times, ours: str, against: str, theirs: str, goal: str = "") -> str:
    ratios = [a / b for a, b in zip(times[ours], times[theirs], strict=True)]
    best = min(times[ours]) / min(times[theirs])
    return (
        f"| {what} | {_ms(times[ours])} | {against} | {_ms(times[theirs])} | {spread(ratios)} | {best:.2f} | {goal} |"
    )


def _ms(times: list[float]) -> str:
    return f"{1e3 * statistics.median(times):.3g} ms (best {1e3 * min(times):.3g})"
