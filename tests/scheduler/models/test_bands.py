"""The band around predictions is learnt from how those before came out."""

from __future__ import annotations

import json

import pytest

from scheduler.models.bands import FEWEST_ENDED, Bands


def after(ratios: list[float], *, waits: bool = False) -> Bands:
    """Jobs that were said to need 100 s each, and ended after that many times as long."""
    bands = Bands({})
    for i, ratio in enumerate(ratios):
        bands.say(f"j{i}", now_s=0.0, left_s=100.0, waits=waits)
        present = [f"j{k}" for k in range(i + 1)]
        bands.close(present[:-1] if i else [], now_s=100.0 * ratio)
    return bands


def test_before_enough_jobs_ended_the_models_are_believed() -> None:
    bands = after([3.0] * (FEWEST_ENDED - 1))
    assert bands.p90_s(100.0, 130.0, waits=False) == 130.0


def test_nine_of_ten_ended_within_the_learnt_band() -> None:
    bands = after([1.0 + i / 100 for i in range(100)])
    assert bands.p90_s(50.0, 51.0, waits=False) == pytest.approx(50.0 * 1.89, rel=0.02)


def test_waiting_jobs_have_a_band_of_their_own() -> None:
    bands = after([4.0] * FEWEST_ENDED, waits=True)
    assert bands.p90_s(10.0, 12.0, waits=True) == pytest.approx(40.0)
    assert bands.p90_s(10.0, 12.0, waits=False) == 12.0


def test_a_band_is_never_narrower_than_the_median() -> None:
    assert after([0.2] * FEWEST_ENDED).p90_s(10.0, 12.0, waits=False) == 10.0


def test_it_survives_json_and_remembers_a_handful_of_each_jobs_predictions() -> None:
    bands = Bands({})
    for i in range(1000):
        bands.say("a", now_s=float(i), left_s=50.0, waits=False)
    memory = json.loads(json.dumps(bands.to_json()))
    assert len(memory["open"]["a"][2]) <= 7
    again = Bands(memory)
    again.close([], now_s=1000.0)
    assert again.to_json()["open"] == {}
    assert again.to_json()["ended"]["running"]
