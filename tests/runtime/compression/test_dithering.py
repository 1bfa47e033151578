# SPDX-License-Identifier: Apache-2.0
"""Dithering: right on average, no further from the truth than a level, and steady under error feedback."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.compression.codecs import ErrorFeedback
from mlhub.runtime.compression.dithering import Dithering

FORMS = list(itertools.product((1, 5, 127), ("linear", "natural"), ("max", "l2")))
forms = pytest.mark.parametrize(("levels", "partition", "norm"), FORMS)


def values(n: int, *, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(seed))


def variance(codec: Dithering, truth: torch.Tensor) -> torch.Tensor:
    """Of each element as it arrives, by the rule itself: between the levels around it."""
    norm = truth.abs().max() if codec.norm == "max" else truth.norm()
    levels = torch.arange(codec.levels + 1.0)
    levels = levels / codec.levels if codec.partition == "linear" else torch.exp2(levels - codec.levels) * (levels > 0)
    part = truth.abs() / norm
    above = (levels[None, :] < part[:, None]).sum(1).clamp(1, codec.levels)
    return (levels[above] - part) * (part - levels[above - 1]) * norm**2


@forms
def test_what_arrives_is_right_on_average(levels: int, partition: str, norm: str) -> None:
    codec, truth, n = Dithering(levels, partition, norm, column=64), values(64), 1500
    arrived = codec.decode(codec.encode(truth.repeat(n), seed=3), n=64 * n).view(n, 64).double()
    bound = 5.5 * (variance(codec, truth).double() / n).sqrt() + 1e-5
    assert bool(((arrived.mean(0) - truth).abs() <= bound).all())
    torch.testing.assert_close(arrived.var(0).sum(), variance(codec, truth).double().sum(), rtol=0.1, atol=1e-5)


@forms
def test_an_element_becomes_one_of_the_levels_around_it(levels: int, partition: str, norm: str) -> None:
    codec, truth = Dithering(levels, partition, norm, column=32), values(100, seed=1)
    arrived = codec.decode(codec.encode(truth, seed=9), n=100)
    assert bool((arrived * truth >= 0).all())
    for column, sent in zip(truth.split(32), arrived.split(32), strict=True):
        size = column.abs().max() if norm == "max" else column.norm()
        known = (
            torch.arange(levels + 1.0) / levels if partition == "linear" else torch.exp2(torch.arange(1 - levels, 1.0))
        )
        distance = (sent.abs()[:, None] / size - torch.cat([torch.zeros(1), known])).abs().amin(1)
        assert float(distance.max()) < 1e-6


@pytest.mark.parametrize(("levels", "bits"), [(1, 2), (2, 4), (7, 4), (8, 8), (127, 8)])
def test_levels_take_so_many_bits_and_a_number_for_every_column(levels: int, bits: int) -> None:
    codec = Dithering(levels)
    assert codec.n_bytes(2**20) == 2**20 * bits // 8 + 4 * 1024
    assert codec.encode(values(2051)).numel() == codec.n_bytes(2051)


def test_the_same_job_worker_and_step_rounds_alike_and_no_other() -> None:
    def payloads(seed: str, *, turn: int = 0, n: int = 5) -> list[bytes]:
        feedback = ErrorFeedback(Dithering(3, is_damped=True), torch.zeros(100), seed=seed, turn=turn)
        return [feedback.encode(torch.linspace(-1, 1, 100)).numpy().tobytes() for _ in range(n)]

    whole = payloads("7/0")
    assert payloads("7/0") == whole
    assert payloads("7/0", turn=1, n=1)[0] != payloads("7/0", turn=2, n=1)[0]
    assert payloads("7/1") != whole
    assert payloads("8/0") != whole


@pytest.mark.slow
@forms
@given(seed=st.integers(0, 100), scale=st.sampled_from([1e-6, 1.0, 1e4]))
@settings(max_examples=2, deadline=None)
def test_under_error_feedback_the_residual_stays_bounded_and_nothing_is_lost(
    levels: int, partition: str, norm: str, seed: int, scale: float
) -> None:
    """With levels so coarse that the code alone is noisier than the gradient, too: there it is damped."""
    n, arrived, steps = 200, torch.zeros(200, dtype=torch.float64), 200
    feedback = ErrorFeedback(Dithering(levels, partition, norm, is_damped=True), torch.zeros(n), seed=str(seed))
    gradient, size = values(n, seed=seed) * scale, 0.0
    for _ in range(steps):
        arrived += feedback.codec.decode(feedback.encode(gradient), n=n)
        size = max(size, float(feedback.residual.norm()))
    assert size < 40 * float(gradient.norm())
    torch.testing.assert_close(arrived + feedback.residual, gradient.double() * steps, rtol=0, atol=2e-3 * scale)


def test_without_feedback_there_is_no_residual_but_one_from_before_is_sent_once() -> None:
    residual = torch.full((8,), 4.0)
    feedback = ErrorFeedback(Dithering(1), residual)
    assert feedback.codec.decode(feedback.encode(torch.full((8,), 1.0)), n=8).tolist() == [5.0] * 8
    assert residual.tolist() == [0.0] * 8
    assert feedback.codec.decode(feedback.encode(torch.full((8,), 1.0)), n=8).tolist() == [1.0] * 8


def test_a_code_beyond_the_levels_is_refused() -> None:
    codec = Dithering(5)
    payload = codec.encode(values(10))
    payload[-1] = 0xFF
    with pytest.raises(ValueError, match="beyond the levels"):
        codec.decode(payload, n=10)
