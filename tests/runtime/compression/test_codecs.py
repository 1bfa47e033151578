# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients: sizes as announced, nothing lost over time, and payloads that no codec wrote are refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.compression.codecs import (
    Codec,
    ErrorFeedback,
    Half,
    OneBit,
    RandomK,
    ScaledSign,
    TopK,
    TwoBit,
    codec_for,
)
from mlhub.runtime.compression.dithering import Dithering
from mlhub.runtime.strategies.catalogue.declarations import COMPRESSIONS

CODECS: dict[str, Codec] = {
    "fp16": Half(),
    "one_bit": OneBit(column=16),
    "scaled_sign": ScaledSign(column=16),
    "two_bit": TwoBit(0.5),
    "dithering": Dithering(7, is_damped=True, column=16),
    "top_k": TopK(0.05),
    "random_k": RandomK(0.05),
}


def gradients(n: int, *, steps: int, seed: int) -> torch.Tensor:
    return torch.randn(steps, n, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", CODECS)
@given(n=st.integers(1, 300), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_what_arrived_and_the_residual_are_together_all_that_was_sent(name: str, n: int, seed: int) -> None:
    codec, arrived = CODECS[name], torch.zeros(n, dtype=torch.float64)
    feedback, all_of_it = ErrorFeedback(codec, torch.zeros(n)), gradients(n, steps=12, seed=seed)
    for gradient in all_of_it:
        payload = feedback.encode(gradient)
        assert payload.dtype is torch.uint8
        assert payload.numel() == codec.n_bytes(n)
        arrived += codec.decode(payload, n=n)
    torch.testing.assert_close(arrived + feedback.residual, all_of_it.double().sum(0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", CODECS)
def test_with_feedback_the_mean_of_what_arrives_comes_near_a_constant_gradient(name: str) -> None:
    codec, gradient = CODECS[name], gradients(200, steps=1, seed=3)[0].clamp(-1, 1)
    feedback, arrived = ErrorFeedback(codec, torch.zeros(200)), torch.zeros(200)
    for _ in range(600):
        arrived += codec.decode(feedback.encode(gradient), n=200)
    if name == "two_bit":  # sends no more than a threshold a step
        gradient = gradient.clamp(-0.5, 0.5)
    assert (arrived / 600 - gradient).abs().max() < 0.35
    assert (arrived / 600 - gradient).abs().mean() < 0.05


def test_one_bit_sends_the_means_of_both_signs_of_a_column_in_a_thirty_second_of_the_bytes() -> None:
    codec = OneBit(column=4)
    values = torch.tensor([1.0, 3.0, -2.0, -4.0, 0.5, -0.5])
    assert codec.decode(codec.encode(values), n=6).tolist() == [2.0, 2.0, -3.0, -3.0, 0.5, -0.5]
    assert OneBit(column=1024).n_bytes(2**20) == 2**20 // 8 + 8 * 1024


def test_a_scaled_sign_sends_the_mean_size_of_a_column_in_a_bit_an_element() -> None:
    codec = ScaledSign(column=4)
    values = torch.tensor([1.0, 3.0, -2.0, -4.0, 0.5, -1.5])
    assert codec.decode(codec.encode(values), n=6).tolist() == [2.5, 2.5, -2.5, -2.5, 1.0, -1.0]
    assert ScaledSign().n_bytes(2**20) == 2**20 // 8 + 4 * 1024


def test_two_bits_send_the_threshold_and_owe_the_rest() -> None:
    feedback = ErrorFeedback(TwoBit(0.5), torch.zeros(5))
    gradient = torch.tensor([0.7, -0.6, 0.3, 0.0, -0.5])
    assert TwoBit(0.5).decode(feedback.encode(gradient), n=5).tolist() == [0.5, -0.5, 0.0, 0.0, -0.5]
    torch.testing.assert_close(feedback.residual, torch.tensor([0.2, -0.1, 0.3, 0.0, 0.0]))
    assert TwoBit().n_bytes(2**20) == 2**20 * 4 // 16


@pytest.mark.parametrize("codec", [TopK(1.0), RandomK(1.0)])
def test_the_whole_density_is_everything(codec: Codec) -> None:
    values = gradients(77, steps=1, seed=0)[0]
    assert torch.equal(codec.decode(codec.encode(values), n=77), values)


def test_top_k_takes_the_largest_and_a_random_part_takes_all_in_turn() -> None:
    values = torch.arange(-50.0, 50.0)
    assert TopK(0.02).decode(TopK(0.02).encode(values), n=100).nonzero().view(-1).tolist() == [0, 1]
    codec = RandomK(0.1)
    seen = torch.zeros(100)
    for seed in range(200):
        seen += codec.decode(codec.encode(torch.ones(100), seed=seed), n=100)
    assert seen.min() > 0
    assert float(seen.sum()) == 2000


def test_a_random_part_is_the_same_for_the_same_job_worker_and_step_and_no_other() -> None:
    def payloads(seed: str, *, turn: int = 0, n: int = 6) -> list[bytes]:
        feedback = ErrorFeedback(RandomK(0.1), torch.zeros(100), seed=seed, turn=turn)
        return [feedback.encode(torch.ones(50), begin=50)[:8].numpy().tobytes() for _ in range(n)]

    whole = payloads("job 7/worker 0")
    assert payloads("job 7/worker 0") == whole
    assert payloads("job 7/worker 0", turn=4, n=2) == whole[4:]  # resumed after four steps
    assert len({*whole, *payloads("job 7/worker 1"), *payloads("job 8/worker 0")}) == 18


def test_numbers_beyond_half_precision_wait_for_the_next_step() -> None:
    feedback = ErrorFeedback(Half(), torch.zeros(1))
    assert Half().decode(feedback.encode(torch.tensor([1e5])), n=1).item() == 65504
    assert feedback.residual.item() == pytest.approx(1e5 - 65504)


@pytest.mark.parametrize("name", CODECS)
def test_a_payload_of_another_size_is_refused(name: str) -> None:
    codec = CODECS[name]
    with pytest.raises(ValueError, match="bytes of an encoded gradient"):
        codec.decode(torch.zeros(codec.n_bytes(50) + 1, dtype=torch.uint8), n=50)


def test_a_position_outside_of_the_gradient_is_refused() -> None:
    payload = TopK(0.1).encode(torch.ones(10))
    payload[:4] = torch.tensor([10], dtype=torch.int32).view(torch.uint8)
    with pytest.raises(ValueError, match="outside"):
        TopK(0.1).decode(payload, n=10)


def test_a_strategy_names_its_codec() -> None:
    assert codec_for({"compression": "none"}) is None
    assert codec_for({}) is None
    assert codec_for({"compression": "two_bit", "threshold": 0.1}) == TwoBit(0.1)
    assert codec_for({"compression": "top_k", "density": 0.1}) == TopK(0.1)
    given = {"levels": 3, "partition": "natural", "norm": "l2", "feedback": False}
    assert codec_for({"compression": "dithering", **given}) == Dithering(3, "natural", "l2")
    assert {*CODECS, "none"} == set(COMPRESSIONS)
