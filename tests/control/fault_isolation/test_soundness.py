# SPDX-License-Identifier: Apache-2.0
"""What was measured is refused by its field before a round, where the scheduler would refuse the whole snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlhub.control.fault_isolation.soundness import sound_observation
from scheduler import Mode, SpeedObservation

SEEN = SpeedObservation(Mode.ALL_REDUCE, 1, 0, 1, 1, "gpu", 64, 0.1, 0.1, 0.0, 50)


@pytest.mark.parametrize(
    ("field", "value", "least"), [("batch_size", 0, "1"), ("n_workers", 0, "1"), ("share", 0.0, "1e-06")]
)
def test_a_measurement_that_no_round_can_work_with_is_refused_by_its_field(field: str, value: Any, least: str) -> None:
    assert sound_observation(SEEN) is SEEN
    with pytest.raises(
        ValueError, match=f"it has a measured {field} {value}; it must be a finite number of at least {least}"
    ):
        sound_observation(replace(SEEN, **{field: value}))
