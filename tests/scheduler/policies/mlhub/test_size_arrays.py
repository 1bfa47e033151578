# SPDX-License-Identifier: Apache-2.0
"""Flat arrays over jobs and sizes: what they say is what each job says alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.policies.mlhub.size_arrays import SizeArrays, flat

STEPS = st.dictionaries(st.integers(1, 64), st.sampled_from([0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=6)


def fastest(steps_s: dict[int, float], share: float, counts: set[int]) -> int:
    """The first of the fastest sizes, one job alone."""
    least = min(steps_s)
    able = [n for n in sorted(steps_s) if n == least or (n <= share and n in counts)]
    return min(able, key=lambda n: (steps_s[n], n))


@given(st.lists(STEPS, max_size=8), st.floats(0.5, 70.0), st.sets(st.integers(1, 64)))
def test_the_fastest_sizes_of_all_jobs_are_those_of_each(jobs, share, counts) -> None:
    sizes = [tuple(sorted(steps_s)) for steps_s in jobs]
    arrays = SizeArrays(sizes)
    step_F = flat([steps_s[n] for n in own] for steps_s, own in zip(jobs, sizes, strict=True))
    among_F = np.isin(arrays.size_F, sorted(counts))
    found = arrays.size_F[arrays.fastest_J(step_F, among_F=among_F, share=share)].tolist()
    assert found == [fastest(steps_s, share, counts) for steps_s in jobs]


@given(st.lists(STEPS, max_size=8), st.sets(st.integers(1, 64)))
def test_rows_are_the_values_of_each_job_at_the_sizes_that_count(jobs, counts) -> None:
    arrays = SizeArrays(jobs)
    rows = arrays.rows(flat(job.values() for job in jobs), np.isin(arrays.size_F, sorted(counts)))
    assert rows == [[step_s for n, step_s in job.items() if n in counts] for job in jobs]
