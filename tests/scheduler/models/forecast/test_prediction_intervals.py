# SPDX-License-Identifier: Apache-2.0
"""The interval around predictions is learned from the outcomes of earlier ones."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.models.forecast.censored_scores import CensoredScores
from scheduler.models.forecast.prediction_intervals import (
    LEAST_ALPHA,
    MOST_ALPHA,
    ForecastGroup,
    PredictionIntervals,
    TimeForecast,
)

FIRST, RUNNING, WAITING = ForecastGroup.FIRST_RUNNING, ForecastGroup.RUNNING, ForecastGroup.WAITING


def forecast(half_s: float = 100.0, most_s: float = 200.0, *, group: ForecastGroup = RUNNING) -> TimeForecast:
    return TimeForecast(half_s, most_s, group)


def after(took_s: list[float], *, group: ForecastGroup = RUNNING, withdrawn: bool = False) -> PredictionIntervals:
    """Jobs that were predicted to need 100 s each, 200 s at most, one after the other, and how long each took."""
    bands, now_s = PredictionIntervals({}), 0.0
    for i, each_s in enumerate(took_s):
        about = forecast(group=group)
        bands.record(f"j{i}", about, p90_s=bands.calibrated(about)[1], now_s=now_s)
        now_s += each_s
        bands.close([], withdrawn=[f"j{i}"] if withdrawn else [], now_s=now_s)
    return bands


def test_before_a_job_ended_the_models_are_believed() -> None:
    assert PredictionIntervals({}).calibrated(forecast())[1] == pytest.approx(200.0)
    assert after([900.0] * 30, withdrawn=True).calibrated(forecast())[1] == pytest.approx(200.0)


@pytest.mark.slow
def test_where_jobs_end_as_predicted_the_band_comes_to_hold_nine_of_ten() -> None:
    """Whether the models' own band is far too wide or far too narrow."""
    for scale in (0.4, 1.0, 3.0):
        chance, bands, now_s, held = random.Random(0), PredictionIntervals({}), 0.0, []
        for i in range(1500):
            about = forecast()
            p90_s = bands.calibrated(about)[1]
            bands.record(f"j{i}", about, p90_s=p90_s, now_s=now_s)
            took_s = 100.0 * 2 ** chance.gauss(0.0, scale)
            held.append(took_s <= p90_s)
            now_s += took_s
            bands.close([], now_s=now_s)
        assert 0.86 <= sum(held[200:]) / len(held[200:]) <= 0.94


def test_waiting_jobs_have_a_band_of_their_own() -> None:
    bands = after([400.0] * 200, group=WAITING)
    assert bands.calibrated(forecast(group=WAITING))[1] > 350.0
    assert bands.calibrated(forecast())[1] == pytest.approx(200.0)


def test_first_predictions_are_judged_among_themselves() -> None:
    bands = after([400.0] * 200, group=FIRST)
    assert bands.calibrated(forecast(group=FIRST))[1] > 350.0
    assert bands.calibrated(forecast())[1] == pytest.approx(200.0)
    assert bands.group_of("new", waits=False) is FIRST
    bands.record("new", forecast(group=FIRST), p90_s=400.0, now_s=0.0)
    assert bands.group_of("new", waits=False) is RUNNING
    assert bands.group_of("new", waits=True) is WAITING


def test_the_median_follows_the_outcomes_and_stays_within_the_band() -> None:
    assert PredictionIntervals({}).calibrated(forecast())[0] == pytest.approx(100.0)
    late, early = after([190.0] * 200), after([50.0] * 200)
    assert late.calibrated(forecast())[0] == pytest.approx(190.0, rel=0.1)
    assert early.calibrated(forecast())[0] == pytest.approx(50.0, rel=0.1)
    assert early.calibrated(forecast())[0] <= early.calibrated(forecast())[1]


def test_a_band_may_end_before_the_models_median_where_all_jobs_do() -> None:
    assert after([50.0] * 200).calibrated(forecast())[1] < 70.0


def test_a_band_that_jobs_outlive_widens_before_they_end() -> None:
    bands = after([100.0 + i for i in range(60)])
    before_s = bands.calibrated(forecast())[1]
    late = [f"late-{i}" for i in range(40)]
    for job in late:
        bands.record(job, forecast(), p90_s=before_s, now_s=0.0)
    bands.close(late, now_s=5000.0)
    assert bands.calibrated(forecast())[1] > 2 * before_s


def test_cancelled_jobs_count_as_longer_than_they_came_not_as_ended() -> None:
    """Ninety of a hundred ended after 100 s; who was cancelled after 90 s proves nothing against it, or for less."""
    ended = after([100.0] * 90)
    p90_s = ended.calibrated(forecast())[1]
    for i in range(90):
        ended.record(f"c{i}", forecast(), p90_s=p90_s, now_s=0.0)
    ended.close([], withdrawn=[f"c{i}" for i in range(90)], now_s=10.0)
    assert ended.calibrated(forecast())[1] == pytest.approx(p90_s, rel=0.05)


def test_the_level_stays_within_its_bounds() -> None:
    for took_s in (1.0, 1e5):
        kind = after([took_s] * 400).to_json()["running"]
        assert LEAST_ALPHA <= kind["alpha"] <= MOST_ALPHA


def test_it_survives_json_and_remembers_a_handful_of_each_jobs_predictions() -> None:
    bands = PredictionIntervals({})
    for i in range(1000):
        bands.record("a", forecast(), p90_s=200.0, now_s=float(i))
    memory = json.loads(json.dumps(bands.to_json()))
    assert len(memory["open"]["a"][2]) <= 7
    again = PredictionIntervals(memory)
    again.close([], now_s=1000.0)
    assert again.to_json()["open"] == {}
    assert again.to_json()["running"]["ended"]


def test_a_memory_of_another_format_is_forgotten() -> None:
    old = {"open": {"a": [1, 1, [[0.0, 50.0, False]]]}, "ended": {"waiting": [[4.0, 1.0]] * 30, "running": []}}
    assert PredictionIntervals(old).calibrated(forecast(group=WAITING))[1] == pytest.approx(200.0)


def test_a_first_prediction_counts_once_while_its_job_waits() -> None:
    """Two hundred rounds long; a second prediction of the same quality must not outweigh sixty that came true."""
    bands = after([105.0] * 60, group=FIRST)
    for i in range(200):
        first = forecast(group=FIRST) if i == 0 else forecast(group=WAITING)
        bands.record("waits", first, p90_s=1e6, now_s=float(i))
    bands.close(["waits"], now_s=5000.0)
    assert bands.calibrated(forecast(group=FIRST))[1] < 120.0


def test_the_models_interval_is_forgotten_after_a_few_dozen_jobs() -> None:
    """The models say 200 s at most, and all jobs took about 100 s."""
    chance = random.Random(0)
    took_s = [100.0 * math.exp(chance.gauss(0.0, 0.05)) for _ in range(60)]
    assert after(took_s, group=FIRST).calibrated(forecast(group=FIRST))[1] < 120.0


def test_a_cause_of_waiting_has_an_interval_of_its_own_and_a_rare_one_borrows() -> None:
    bands, now_s = PredictionIntervals({}), 0.0
    causes = {"quota_gpus": 300.0, "nothing_to_borrow": 110.0, "borrow_limit": 300.0}
    for i in range(124):
        cause = "borrow_limit" if i >= 120 else ("quota_gpus", "nothing_to_borrow")[i % 2]
        about = TimeForecast(100.0, 200.0, ForecastGroup.FIRST_WAITING, cause)
        bands.record(f"j{i}", about, p90_s=bands.calibrated(about)[1], now_s=now_s)
        now_s += causes[cause]
        bands.close([], now_s=now_s)

    def p90_s(cause: str) -> float:
        return bands.calibrated(TimeForecast(100.0, 200.0, ForecastGroup.FIRST_WAITING, cause))[1]

    assert p90_s("quota_gpus") == pytest.approx(300.0, rel=0.1)
    assert p90_s("nothing_to_borrow") < p90_s("guarantee_borrowed") <= p90_s("quota_gpus") * 1.01
    assert p90_s("borrow_limit") == pytest.approx(300.0, rel=0.1)


def test_long_jobs_have_an_interval_of_their_own() -> None:
    """Short jobs take as long as predicted, long ones twice as long; one for which both say something lies between."""
    bands, now_s = PredictionIntervals({}), 0.0
    for i in range(120):
        half_s, times = ((60.0, 1.0), (20_000.0, 2.0))[i % 2]
        about = forecast(half_s, 2 * half_s, group=FIRST)
        bands.record(f"j{i}", about, p90_s=bands.calibrated(about)[1], now_s=now_s)
        now_s += times * half_s
        bands.close([], now_s=now_s)

    def p90_factor(half_s: float) -> float:
        return bands.calibrated(forecast(half_s, 2 * half_s, group=FIRST))[1] / half_s

    assert p90_factor(60.0) == pytest.approx(1.0, rel=0.1)
    assert p90_factor(20_000.0) == pytest.approx(2.0, rel=0.1)
    assert p90_factor(60.0) <= p90_factor(1_000.0) <= p90_factor(20_000.0)


def test_predictions_that_differ_a_little_keep_their_order() -> None:
    chance, bands, now_s = random.Random(0), PredictionIntervals({}), 0.0
    for i in range(100):
        half_s = math.exp(chance.uniform(3.0, 10.0))
        bands.record(f"j{i}", forecast(half_s, 2 * half_s), p90_s=2 * half_s, now_s=now_s)
        now_s += half_s * math.exp(chance.gauss(0.0, 0.5))
        bands.close([], now_s=now_s)
    for half_s in (10.0, 100.0, math.exp(5.0), 3_000.0, math.exp(9.0), 1e6):
        earlier, later = (bands.calibrated(forecast(s, 2 * s)) for s in (half_s, half_s * 1.001))
        assert earlier[0] <= later[0] <= earlier[0] * 1.02
        assert earlier[1] <= later[1] <= earlier[1] * 1.02


def test_a_memory_of_the_format_before_is_read() -> None:
    """Its scores say nothing of how long the jobs were, and count for jobs of any length."""
    memory = json.loads(json.dumps(after([400.0] * 60, group=FIRST).to_json()))
    memory["format"] = 4
    memory["first_running"]["ended"] = [score[:4] for score in memory["first_running"]["ended"]]
    memory["open"] = {"a": [1, 1, [[0.0, 100.0, 0.7, "first_running", 200.0, ""]]]}
    bands = PredictionIntervals(memory)
    for half_s in (1.0, 100.0, 1e6):
        assert bands.calibrated(forecast(half_s, 2 * half_s, group=FIRST))[1] > 3 * half_s
    bands.close([], now_s=100.0)
    again = PredictionIntervals(json.loads(json.dumps(bands.to_json())))
    assert again.to_json()["format"] == 5
    assert len(again.to_json()["first_running"]["ended"]) == 61


@given(
    took_s=st.lists(st.floats(1.0, 1e5), min_size=1, max_size=30),
    half_s=st.floats(1.0, 1e5),
    wider=st.floats(1.0, 20.0),
    later=st.floats(1.0, 5.0),
)
def test_the_p90_is_never_before_the_p50_and_grows_with_the_models_interval(
    took_s: list[float], half_s: float, wider: float, later: float
) -> None:
    bands = after(took_s)
    p50_s, p90_s = bands.calibrated(forecast(half_s, half_s * wider))
    assert p50_s <= p90_s
    assert bands.calibrated(forecast(half_s, half_s))[1] <= max(p90_s, half_s) * (1 + 1e-9)
    assert bands.calibrated(forecast(half_s, half_s * wider * later))[1] >= min(p90_s, half_s) * (1 - 1e-9)


@given(
    st.lists(st.tuples(st.floats(-5.0, 5.0), st.floats(0.5, 9.0), st.sampled_from([0.0, 1.0])), min_size=1),
    st.floats(0.0, 15.0),
)
def test_higher_levels_have_higher_scores(scores: list[tuple[float, float, float]], log_s: float) -> None:
    censored = CensoredScores([(*one, "", 100.0) for one in scores], prior=4.0, pooled=20.0)
    (found,) = censored.quantiles([("", log_s)], (0.1, 0.5, 0.9, 0.99))
    assert found == sorted(found)


@given(st.lists(st.tuples(st.sampled_from(["", "quota", "gpus"]), st.floats(0.0, 15.0)), min_size=1, max_size=12))
def test_predictions_that_are_asked_for_together_have_the_quantiles_of_each_alone(
    asked: list[tuple[str, float]],
) -> None:
    scores = [(i / 7 - 1.0, 1.0 + i % 3, float(i % 4 > 0), ("", "quota")[i % 2], 10.0**i) for i in range(12)]
    censored = CensoredScores(scores, prior=4.0, pooled=3.0)
    assert censored.quantiles(asked, (0.5, 0.9)) == [censored.quantiles([one], (0.5, 0.9))[0] for one in asked]
