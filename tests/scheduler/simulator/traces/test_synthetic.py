# SPDX-License-Identifier: Apache-2.0
"""Made-up days: what they promise of load, sizes, tenants and seeds."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.simulator.traces.formats import read_trace, trace_to_csv
from scheduler.simulator.traces.synthetic import DayTenant, made_up_day
from scheduler.simulator.traces.trace import Trace

TENANTS = (DayTenant("research", share=2.0, guarantee=24), DayTenant("product", guarantee=16))


def day(**changes: object) -> Trace:
    return made_up_day(**({"tenants": TENANTS, "n_jobs": 400, "n_gpus": 64, "seed": 3} | changes))  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_day_and_another_seed_another() -> None:
    assert day() == day()
    assert day().jobs != day(seed=4).jobs


def test_the_day_asks_for_as_much_as_its_load_says() -> None:
    asked = sum(job.n_gpus * job.duration_s for job in day(load=1.3).jobs)
    assert asked == pytest.approx(1.3 * 64 * 86400, rel=0.01)


def test_few_long_jobs_use_most_of_the_time() -> None:
    length_J = np.sort([job.n_gpus * job.duration_s for job in day().jobs])
    assert length_J[-40:].sum() > 0.4 * length_J.sum()
    assert np.median(length_J) < length_J.mean() / 3


def test_submissions_follow_the_working_day() -> None:
    hours = np.array([job.submitted_at_s / 3600 for job in day(n_jobs=2000).jobs])
    by_day = ((hours > 11) & (hours < 19)).sum()
    assert by_day > 1.8 * ((hours < 6) | (hours > 22)).sum()


def test_tenants_submit_their_shares_and_no_job_is_larger_than_a_fourth_of_the_cluster() -> None:
    jobs = day(n_jobs=3000).jobs
    assert sum(job.tenant == "research" for job in jobs) / 3000 == pytest.approx(2 / 3, abs=0.06)
    assert max(job.n_gpus for job in jobs) == 16
    assert max(job.n_gpus for job in day(n_gpus=8, tenants=(DayTenant("a"),)).jobs) == 2


def test_jobs_come_in_the_order_of_submission_with_ids_of_their_own() -> None:
    jobs = day().jobs
    assert [job.submitted_at_s for job in jobs] == sorted(job.submitted_at_s for job in jobs)
    assert len({job.id for job in jobs}) == 400
    assert all((job.min_gpus or job.n_gpus) <= job.n_gpus <= (job.max_gpus or job.n_gpus) for job in jobs)


def test_a_day_that_was_written_is_read_as_it_was() -> None:
    written = trace_to_csv(day())
    assert read_trace(written, name="day").jobs == day().jobs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tenants": ()}, "the tenants are none; name at least one, each once"),
        ({"tenants": (DayTenant("a"), DayTenant("a"))}, "the tenants are a, a; name at least one, each once"),
        ({"tenants": (DayTenant("a", share=-1.0),)}, "the tenants' shares must not be negative"),
        ({"n_jobs": 0}, "0 jobs, 64 GPUs, 24 hours, load 1: all must be above 0"),
        ({"load": float("nan")}, "load nan: all must be above 0"),
        ({"n_jobs": 2}, "2 jobs of at most 12 hours cannot make such a load; raise the jobs"),
        ({"n_gpus": 32}, "the guarantees are more than the 32 GPUs that there are; lower some"),
    ],
)
def test_impossible_days_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        day(**changes)
