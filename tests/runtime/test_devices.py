# SPDX-License-Identifier: Apache-2.0
"""Which device a worker computes on, by its pod's environment."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mlhub.runtime.devices import device_of, training_device
from mlhub.runtime.errors import GpuUnavailableError, classify
from mlhub.runtime.ps.client.staging import GradientCopies, HostStaging, Stretch, stretches_of
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.wire.exits import Cause, ExitCode, Fault

without_accelerator = pytest.mark.skipif(
    torch.accelerator.is_available(), reason="The test is about machines without accelerators, and this one has one."
)


def test_a_pod_without_accelerators_computes_on_the_processor() -> None:
    assert device_of("cuda", n_visible=0, local_rank="3") == torch.device("cpu")


@pytest.mark.parametrize(("local_rank", "n_visible", "index"), [("0", 1, 0), ("2", 4, 2), (None, 2, 0), ("", 2, 0)])
def test_a_worker_computes_on_the_device_of_its_local_rank(local_rank: str | None, n_visible: int, index: int) -> None:
    assert device_of("cuda", n_visible=n_visible, local_rank=local_rank) == torch.device("cuda", index)


def test_a_pod_that_sees_its_own_device_only_uses_that_whatever_its_rank_on_the_node_is() -> None:
    assert device_of("cuda", n_visible=1, local_rank="3") == torch.device("cuda", 0)


@without_accelerator
@pytest.mark.parametrize("visible", [{}, {"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": "-1"}])
def test_a_pod_that_was_given_no_gpu_computes_on_the_processor(visible: dict[str, str]) -> None:
    assert training_device({**visible, "LOCAL_RANK": "0"}) == torch.device("cpu")


@without_accelerator
def test_a_pod_does_not_train_on_the_processor_beside_the_gpu_that_it_was_given() -> None:
    with pytest.raises(GpuUnavailableError, match="GPU-7 cannot be used: ") as raised:
        training_device({"CUDA_VISIBLE_DEVICES": "GPU-7", "LOCAL_RANK": "0"})
    assert classify(raised.value) == (ExitCode.GPU_UNAVAILABLE, Cause.GPU_UNAVAILABLE)
    assert Cause.GPU_UNAVAILABLE.fault is Fault.PLATFORM


def test_stretches_end_between_parameters_and_cover_all() -> None:
    assert stretches_of([10, 10, 10, 5], stretch_bytes=80) == [Stretch(0, 20, 2), Stretch(20, 35, 2)]
    assert stretches_of([10, 30], stretch_bytes=80) == [Stretch(0, 40, 2)]
    assert stretches_of([]) == []


def model() -> tuple[nn.Module, torch.Tensor, torch.Tensor, list[nn.Parameter]]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    named = flat_parameters.trainable_parameters(net)
    weights, gradient = flat_parameters.flatten(named)
    return net, weights, gradient, [p for _, p in named]


@pytest.mark.parametrize("n_passes", [1, 2])
def test_a_gradient_is_copied_while_it_is_computed_and_once_it_is_complete(n_passes: int) -> None:
    net, _, gradient, parameters = model()
    target = torch.full_like(gradient, 7.0)
    copies = GradientCopies(gradient, target, parameters)
    copies.begin(n_passes)
    for index in range(n_passes):
        assert (target == 7.0).all(), "it was copied before the last pass"
        net(torch.randn(5, 4)).square().mean().backward()
        assert copies.n_early == (len(copies.stretches) if index == n_passes - 1 else 0)
    torch.testing.assert_close(target, gradient)
    copies.finish()
    torch.testing.assert_close(target, gradient)


def test_a_gradient_that_is_changed_after_the_pass_is_copied_as_it_is_pushed() -> None:
    net, _, gradient, parameters = model()
    copies = GradientCopies(gradient, target := torch.zeros_like(gradient), parameters)
    copies.begin(0)
    net(torch.randn(5, 4)).square().mean().backward()
    gradient *= 0.5
    copies.finish()
    assert copies.n_early == 0
    torch.testing.assert_close(target, gradient)


def test_a_parameter_that_a_batch_does_not_use_is_copied_too() -> None:
    net, _, gradient, parameters = model()
    copies = GradientCopies(gradient, target := torch.full_like(gradient, 7.0), parameters)
    copies.begin(1)
    gradient.zero_()
    net[2](torch.randn(5, 3)).square().mean().backward()
    copies.finish()
    torch.testing.assert_close(target, gradient)


def test_weights_and_pushed_vectors_pass_through_main_memory() -> None:
    _, weights, gradient, parameters = model()
    staging = HostStaging(weights, gradient, parameters)
    torch.testing.assert_close(staging.weights, weights)
    staging.weights.fill_(2.0)
    staging.await_loaded()
    staging.load()
    assert (weights == 2.0).all()
    staging.load(into := torch.zeros_like(weights))
    assert (into == 2.0).all()
    staging.save(torch.full_like(gradient, 3.0))
    assert (staging.gradient == 3.0).all()
    staging.close()
