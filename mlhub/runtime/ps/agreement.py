# SPDX-License-Identifier: Apache-2.0
"""What workers report with a step, and what all reports of a step come to together."""

from __future__ import annotations

from typing import NamedTuple


class StepAgreement(NamedTuple):
    """stop, checkpoint: what is to happen before the next step, because a worker asks for it. value: summed over
    workers."""

    stop: bool = False
    checkpoint: bool = False
    value: float = 0.0
