# SPDX-License-Identifier: Apache-2.0
"""A model on an accelerator and its copies in main memory, through which gradients go out and weights come in.

Gradients are copied while the rest of the backward pass still computes, in stretches of some megabytes, on a stream of
their own; weights are copied without a wait, and the next kernels follow them in their stream. Main memory is pinned,
also where servers of the same machine share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

STRETCH_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Stretch:
    """Elements [begin, end) of the flat gradient, of which so many parameters are views."""

    begin: int
    end: int
    n_parameters: int


class GradientCopies:
    """Copies each stretch of a gradient when the last backward pass has completed it, and the rest in finish()."""

    def __init__(self, source: Tensor, target: Tensor, parameters: Sequence[nn.Parameter]) -> None:
        """source: the gradient on the device, flat; those of the parameters are views of it, one after the other.

        target: of its shape, in main memory.
        """
        self._source, self._target = source, target
        self.stream = torch.cuda.Stream(source.device) if source.is_cuda else None  # type: ignore[no-untyped-call]
        self.stretches = stretches_of([p.numel() for p in parameters])
        self.n_early = 0  # stretches of this step that were copied before finish()
        self._left, self._is_copied = [0] * len(self.stretches), [False] * len(self.stretches)
        owners = [index for index, s in enumerate(self.stretches) for _ in range(s.n_parameters)]
        for index, parameter in zip(owners, parameters, strict=True):
            parameter.register_post_accumulate_grad_hook(partial(self._observe, index))  # type: ignore[no-untyped-call]

    def begin(self, n_passes: int) -> None:
        """Starts a step of so many backward passes; 0: the gradient is changed after them, and copied by finish()."""
        self._left = [stretch.n_parameters * n_passes for stretch in self.stretches]
        self._is_copied, self.n_early = [False] * len(self.stretches), 0

    def finish(self) -> None:
        """Copies what is left and waits until the whole gradient is in main memory."""
        for index, is_copied in enumerate(self._is_copied):
            if not is_copied:
                self._copy(index)
        self._is_copied = [False] * len(self.stretches)
        if self.stream is not None:
            self.stream.synchronize()

    def copy_other(self, vector: Tensor) -> None:
        """Copies another vector of the gradient's shape instead, and waits for it."""
        with self._side_by_side():
            self._target.copy_(vector, non_blocking=self.stream is not None)
        if self.stream is not None:
            self.stream.synchronize()

    def _observe(self, index: int, _: Tensor) -> None:
        """A parameter without a gradient in some pass is never counted down, so its stretch waits for finish()."""
        self._left[index] -= 1
        if self._left[index] == 0:
            self._copy(index)
            self.n_early += 1

    def _copy(self, index: int) -> None:
        begin, end = self.stretches[index].begin, self.stretches[index].end
        with self._side_by_side():
            self._target[begin:end].copy_(self._source[begin:end], non_blocking=self.stream is not None)
        self._is_copied[index] = True

    @contextmanager
    def _side_by_side(self) -> Iterator[None]:
        """Runs a copy on the stream of copies, after what the current stream has been given so far."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream(self._source.device))
        with torch.cuda.stream(self.stream):
            yield


class HostStaging:
    """weights, gradient: in main memory, shape (n_elements,), float32; the client sends and receives these."""

    def __init__(
        self, device_weights: Tensor, device_gradient: Tensor, parameters: Sequence[nn.Parameter], *,
        into: tuple[Tensor, Tensor] | None = None,
    ) -> None:  # fmt: skip
        """device_*: the model's flat vectors. into: memory that servers share, for weights and gradient."""
        self.device_weights, self.device_gradient = device_weights, device_gradient
        self._pinned: list[Tensor] = []
        n, is_cuda = device_weights.numel(), device_weights.is_cuda
        self.weights, self.gradient = into or (torch.zeros(n, pin_memory=is_cuda), torch.zeros(n, pin_memory=is_cuda))
        if into is not None and is_cuda:
            self._pinned = [vector for vector in into if _pin(vector)]
        self.weights.copy_(device_weights)
        self.copies = GradientCopies(device_gradient, self.gradient, parameters)
        self._loaded: torch.cuda.Event | None = None

    def begin_step(self, n_passes: int) -> None:
        self.copies.begin(n_passes)

    def save(self, pushed: Tensor | None) -> None:
        """Brings the gradient, or another vector of its shape, into main memory."""
        if pushed is None:
            self.copies.finish()
        else:
            self.copies.copy_other(pushed)

    def await_loaded(self) -> None:
        """Waits until the last weights have left main memory, so that others may be received."""
        if self._loaded is not None:
            self._loaded.synchronize()

    def load(self, into: Tensor | None = None) -> None:
        """Brings the weights onto the device, where later kernels of this stream find them; returns at once."""
        target = self.device_weights if into is None else into
        target.copy_(self.weights, non_blocking=target.is_cuda)
        if target.is_cuda:
            self._loaded = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._loaded.record(torch.cuda.current_stream(target.device))

    def stream_from_here(self) -> AbstractContextManager[object]:
        """A stream that sees what was computed until now, and waits for nothing that is computed later.

        Made by the thread that computes, and entered by one that exchanges, whose work is done when it leaves.
        """
        return _SideStream(self.device_weights.device) if self.device_weights.is_cuda else nullcontext()

    def close(self) -> None:
        """Unpins memory before it is unmapped."""
        for vector in self._pinned:
            torch.cuda.cudart().cudaHostUnregister(vector.data_ptr())  # type: ignore[no-untyped-call]
        self._pinned = []


class _SideStream(AbstractContextManager[None]):
    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._stream.wait_stream(torch.cuda.current_stream(device))
        self._context = torch.cuda.stream(self._stream)

    def __enter__(self) -> None:
        self._context.__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: object) -> None:
        self._stream.synchronize()
        self._context.__exit__(None, None, None)


def stretches_of(sizes: Sequence[int], *, stretch_bytes: int = STRETCH_BYTES) -> list[Stretch]:
    """Cuts a flat vector of float32 between parameters, into stretches of at least so many bytes but for the last.

    sizes: elements of each parameter.
    """
    found, begin, end, n_parameters = [], 0, 0, 0
    for size in sizes:
        end, n_parameters = end + size, n_parameters + 1
        if 4 * (end - begin) >= stretch_bytes:
            found.append(Stretch(begin, end, n_parameters))
            begin, n_parameters = end, 0
    return [*found, Stretch(begin, end, n_parameters)] if n_parameters else found


def _pin(vector: Tensor) -> bool:
    """Pins memory that torch did not allocate. False where the driver refuses; copies are slower then."""
    if not vector.numel():
        return False
    runtime = torch.cuda.cudart()  # type: ignore[no-untyped-call]
    return int(runtime.cudaHostRegister(vector.data_ptr(), vector.nbytes, 0)) == 0
