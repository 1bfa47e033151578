# SPDX-License-Identifier: Apache-2.0
"""A worker's requests to the parameter servers when its model is on an accelerator; servers stay on processors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from mlhub.runtime.ps.agreement import StepAgreement
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.client.staging import HostStaging


class DeviceClient(Client):
    """A Client whose callers give and get vectors on the device. Compressed pushes are encoded there."""

    def __init__(self, addresses: Sequence[str], staging: HostStaging, **options: Any) -> None:
        """options: as of Client. Raises as Client does."""
        super().__init__(addresses, staging.weights, staging.gradient, **options)
        self._staging = staging

    def pull(self) -> None:
        self._staging.await_loaded()
        super().pull()
        self._staging.load()

    def exchange(
        self, pushed: torch.Tensor | None = None, *, into: torch.Tensor | None = None,
        versions: Sequence[int] | None = None, weight: float = 1.0, report: StepAgreement | None = None,
    ) -> StepAgreement:  # fmt: skip
        outgoing = self._outgoing(pushed)
        self._staging.await_loaded()
        agreement = super().exchange(outgoing, versions=versions, weight=weight, report=report)
        self._staging.load(into)
        return agreement

    def push(self, pushed: torch.Tensor | None = None, *, weight: float = 1.0) -> None:
        super().push(self._outgoing(pushed), weight=weight)

    def stream_from_here(self) -> AbstractContextManager[object]:
        return self._staging.stream_from_here()

    def close(self, *, leaves: bool = True) -> None:
        self._staging.close()
        super().close(leaves=leaves)

    def _outgoing(self, pushed: torch.Tensor | None) -> torch.Tensor | None:
        """What to push; None: the gradient in main memory, where this brings whatever vector is pushed."""
        if self.feedback is not None:
            return self._staging.device_gradient if pushed is None else pushed
        self._staging.save(pushed)
        return None
