# SPDX-License-Identifier: Apache-2.0
"""Step 4 of a round: grants become allocations, now or as soon as other jobs have left; needless victims stay."""

from scheduler.round.placement.steps import place

__all__ = ["place"]
