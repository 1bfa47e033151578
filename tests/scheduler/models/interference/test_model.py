# SPDX-License-Identifier: Apache-2.0
"""The interference model on pairs whose truth is known: made from sensitivities and pressures, or from utilisation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.models.interference.job_features import JobTraits, MeasuredPair, family_of, size_of
from scheduler.models.interference.model import MIN_PAIRS, PRIOR_MEAN, PRIOR_SD, Interference

FAMILIES = {"ResNet-50": (0.5, 0.9), "LM": (0.2, 0.3), "A3C": (0.1, 0.05), "Recommender, wide": (0.9, 0.8)}
SIZES = (16, 32, 64)


def latent_pairs() -> list[MeasuredPair]:
    """Every pair of 12 jobs: sensitivity(i) · pressure(j) is what i loses, growing with j's batch."""
    jobs = [(f"{f} (batch size {size})", *FAMILIES[f], size) for f in FAMILIES for size in SIZES]

    def norm(one: tuple[str, float, float, int], other: tuple[str, float, float, int]) -> float:
        return 1 / (1 + 2.5 * one[1] * other[2] * (other[3] / 64) ** 0.3)

    pairs = itertools.combinations_with_replacement(jobs, 2)
    return [MeasuredPair(JobTraits(a[0]), JobTraits(b[0]), norm(a, b), norm(b, a)) for a, b in pairs]


def busy(name: str, gpu: float, noise: float = float("nan")) -> JobTraits:
    return JobTraits(name, {"gpu_use": gpu, "always": 7.0, "mostly_unknown": noise})


def crowded_pairs(n: int = 150) -> list[MeasuredPair]:
    """Jobs of made-up names: no job is slowed until both need more than the GPU has."""
    random = np.random.default_rng(5)

    def norm(one: float, other: float) -> float:
        return 1 / (1 + max(0.0, one + other - 1))

    found = []
    for i in range(n):
        one, other = random.uniform(0.05, 0.95, 2)
        found.append(MeasuredPair(busy(f"x{i}", one), busy(f"y{i}", other), norm(one, other), norm(other, one)))
    return found


@pytest.fixture(scope="module")
def latent() -> tuple[Interference, list[MeasuredPair]]:
    """A model that has not seen every fifth pair, and those pairs."""
    pairs = latent_pairs()
    return Interference([p for i, p in enumerate(pairs) if i % 5]), pairs[::5]


@pytest.fixture(scope="module")
def crowded() -> Interference:
    return Interference(crowded_pairs())


def test_pairs_never_measured_are_predicted_from_the_jobs_other_pairs(latent) -> None:
    model, unseen = latent
    errors = [
        abs(found - truth)
        for p in unseen
        for found, truth in zip(model.predict(p.a, p.b)[:2], (p.norm_a, p.norm_b), strict=True)
    ]
    assert np.mean(errors) < 0.02
    assert max(errors) < 0.08


def test_a_measured_pair_counts_for_itself_and_is_surer_than_a_predicted_one(latent) -> None:
    odd = MeasuredPair(JobTraits("A3C"), JobTraits("LM"), 0.11, 0.97)
    model = Interference([*latent_pairs(), odd])
    assert model.predict("A3C", "LM")[:2] == (0.11, 0.97)
    assert model.predict("LM", "A3C")[:2] == (0.97, 0.11)
    assert model.is_measured("LM", "A3C")
    assert not model.is_measured("LM", "LM")
    assert model.predict("LM", "A3C").sd_a < model.predict("LM", "LM (batch size 16)").sd_a


def test_repeated_measurements_are_averaged_in_either_orientation() -> None:
    one = MeasuredPair(JobTraits("a"), JobTraits("b"), 0.5, 0.8)
    other = MeasuredPair(JobTraits("b"), JobTraits("a"), 0.9, 0.6)
    found = Interference([one, other]).predict("a", "b")
    assert found[:2] == pytest.approx((0.55, 0.85))
    assert found.sd_a < Interference([one]).predict("a", "b").sd_a


def test_a_job_of_a_known_family_is_predicted_like_its_family(latent) -> None:
    """Batch 48 was never measured; it lies between 32 and 64, and so does what it does to a recommender."""
    model, _ = latent
    pairs = [model.predict("Recommender, wide (batch size 32)", f"ResNet-50 (batch size {n})") for n in (16, 48, 64)]
    assert pairs[0].norm_a > pairs[1].norm_a > pairs[2].norm_a - 0.05
    assert not model.knows("ResNet-50 (batch size 48)")
    assert model.knows("ResNet-50 (batch size 32)")


def test_a_stranger_is_predicted_with_little_certainty(latent) -> None:
    model, _ = latent
    stranger = model.predict("Diffusion", "Mixer")
    assert stranger.sd_a > 2 * model.predict("LM (batch size 16)", "A3C (batch size 16)").sd_a
    assert stranger.sd_a > 0.1


def test_sharing_gains_where_both_together_are_faster_than_in_turn(latent) -> None:
    model, _ = latent
    assert model.gains("A3C (batch size 16)", "LM (batch size 16)")
    assert model.gains("A3C (batch size 16)", "LM (batch size 16)", sds=2.0)
    assert not model.gains("Recommender, wide (batch size 64)", "ResNet-50 (batch size 64)", sds=2.0)
    assert not model.gains("Diffusion", "Mixer", sds=4.0)


@pytest.mark.slow
def test_features_carry_over_to_jobs_of_unknown_name(crowded: Interference) -> None:
    assert crowded.features == ("gpu_use",)
    assert crowded.predict(busy("new", 0.2), busy("newer", 0.3)).norm_a == pytest.approx(1.0, abs=0.04)
    assert crowded.predict(busy("new", 0.9), busy("newer", 0.8)).norm_a == pytest.approx(1 / 1.7, abs=0.04)


def test_a_missing_feature_is_no_error(crowded: Interference) -> None:
    found = crowded.predict(busy("new", float("nan")), JobTraits("newer"))
    assert all(0 < x <= 1 for x in found[:2])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(a=st.floats(-5, 5), b=st.floats(-5, 5), names=st.tuples(st.text(max_size=9), st.text(max_size=9)))
def test_swapping_the_pair_swaps_the_answer_and_speeds_lie_above_0_up_to_1(
    crowded: Interference, a: float, b: float, names: tuple[str, str]
) -> None:
    one, other = busy(names[0], a), busy(names[1], b)
    there, back = crowded.predict(one, other), crowded.predict(other, one)
    assert there == pytest.approx((back.norm_b, back.norm_a, back.sd_b, back.sd_a), abs=1e-9)
    assert 0 < there.norm_a <= 1
    assert there.sd_a > 0


def test_order_and_orientation_of_the_measurements_do_not_matter() -> None:
    pairs = latent_pairs()
    turned = [MeasuredPair(p.b, p.a, p.norm_b, p.norm_a) for p in reversed(pairs)]
    asked = ("LM (batch size 48)", "ResNet-50 (batch size 64)")
    assert Interference(pairs).predict(*asked) == Interference(turned).predict(*asked)


def test_with_too_few_pairs_all_but_the_measured_get_the_prior() -> None:
    few = latent_pairs()[: MIN_PAIRS - 1]
    model = Interference(few)
    assert model.is_prior
    assert model.predict(few[0].a, few[0].b)[:2] == pytest.approx((few[0].norm_a, few[0].norm_b))
    assert model.predict("somebody", "else") == (PRIOR_MEAN, PRIOR_MEAN, PRIOR_SD, PRIOR_SD)
    assert not Interference(latent_pairs()[:MIN_PAIRS]).is_prior


def test_a_model_of_nothing_is_the_prior() -> None:
    assert Interference([]).predict("a", "b").norm_a == PRIOR_MEAN


@pytest.mark.slow
def test_pairs_that_all_run_alike_are_learned_too() -> None:
    model = Interference([MeasuredPair(busy(f"x{i}", i), busy(f"y{i}", 2 * i), 1.0, 1.0) for i in range(40)])
    assert model.predict(busy("x", 3), busy("y", 4)).norm_a == pytest.approx(1.0, abs=0.01)


def test_an_unmeasured_pair_is_refused_with_its_names() -> None:
    with pytest.raises(ValueError, match="A3C co-located with LM: speeds must be above 0; leave unmeasured pairs out"):
        Interference([MeasuredPair(JobTraits("A3C"), JobTraits("LM"), 0.0, 0.0)])


@pytest.mark.parametrize(
    ("name", "family", "size"),
    [
        ("ResNet-50 (batch size 64)", "resnet-50", 6),
        ("resnet50_bs128_amp1", "resnet50", 7),
        ("VGG batch=32", "vgg", 5),
        ("BERT, large_b8", "bert, large", 3),
        ("CycleGAN", "cyclegan", 0),
        ("(8)", "(8)", 0),
        ("", "", 0),
    ],
)
def test_names_contain_family_and_size(name: str, family: str, size: float) -> None:
    assert family_of(name) == family
    assert size_of(name) == size


def on_type(pairs: list[MeasuredPair], gpu_type: str, power: float) -> list[MeasuredPair]:
    """The same pairs on another type of GPU, where jobs slow each other by that power of what they do here."""
    return [
        MeasuredPair(
            JobTraits(p.a.name, p.a.features, gpu_type),
            JobTraits(p.b.name, p.b.features, gpu_type),
            p.norm_a**power,
            p.norm_b**power,
        )
        for p in pairs
    ]


def test_pairs_of_one_type_of_gpu_predict_those_of_another(latent: tuple[Interference, list[MeasuredPair]]) -> None:
    known = latent_pairs()
    here, there = on_type(known, "V100", 1.0), on_type(known, "T4", 1.3)
    model = Interference([*here, *there[::6]])
    unseen = [pair for i, pair in enumerate(there) if i % 6]
    found = np.array([model.predict(p.a, p.b)[:2] for p in unseen])
    truth = np.array([(p.norm_a, p.norm_b) for p in unseen])
    as_measured_here = np.array([(p.norm_a, p.norm_b) for i, p in enumerate(here) if i % 6])
    assert np.abs(found - truth).mean() < 0.02
    assert np.abs(found - truth).mean() < 0.5 * np.abs(as_measured_here - truth).mean()


def test_speeds_above_the_speed_alone_are_predicted_where_they_were_measured() -> None:
    faster = [
        MeasuredPair(p.a, p.b, 1.5 * p.norm_a, 1.5 * p.norm_b)  # both read the same files, say
        for p in latent_pairs()
    ]
    model = Interference([p for i, p in enumerate(faster) if i % 5])
    unseen = [p for p in faster[::5] if min(p.norm_a, p.norm_b) > 1.2]
    assert len(unseen) >= 3
    found = np.array([model.predict(p.a, p.b)[:2] for p in unseen])
    assert np.abs(found - np.array([(p.norm_a, p.norm_b) for p in unseen])).mean() < 0.04
    measured = faster[1]
    assert model.predict(measured.a, measured.b)[:2] == pytest.approx((measured.norm_a, measured.norm_b))
