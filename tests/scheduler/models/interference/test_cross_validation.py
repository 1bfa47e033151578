# SPDX-License-Identifier: Apache-2.0
"""Files of pairs: what is read of them, what is refused, and how the left-out pairs are judged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from scheduler.__main__ import main
from scheduler.models.interference.cross_validation import evaluate, held_out
from scheduler.models.interference.pairs_file import BadPairs, read_pairs
from tests.scheduler.models.interference.test_model import crowded_pairs, latent_pairs

HEADER = "job_a,job_b,norm_a,norm_b\n"


def rows_of(pairs) -> str:
    return HEADER + "".join(f'"{p.a.name}","{p.b.name}",{p.norm_a},{p.norm_b}\n' for p in pairs)


def test_rows_of_zeros_or_blanks_were_not_measured() -> None:
    found = read_pairs(HEADER + '"A, b",c,0.5,1\nd,e,0,0\nf,g,,\n\nh,i,0,0.7\n', name="p.csv")
    assert [(p.a.name, p.b.name, p.norm_a, p.norm_b) for p in found.pairs] == [("A, b", "c", 0.5, 1.0)]
    assert found.n_unmeasured == 3


def test_numeric_columns_of_both_jobs_are_features_and_others_are_named_with_the_reason() -> None:
    text = (
        "job_a,job_b,norm_a,norm_b,gpu,use_a,use_b,amp_a,amp_b,set_a,set_b,lone_a\n"
        "x,y,0.5,1,V100,3,,true,False,cifar,mnist,4\n"
        "x,z,0.6,1,V100,3,nan,true,False,cifar,mnist,4\n"
    )
    found = read_pairs(text, name="p.csv")
    assert found.features == ("use", "amp")
    assert found.pairs[0].a.features == {"use": 3.0, "amp": 1.0}
    assert np.isnan(found.pairs[0].b.features["use"])
    assert found.left_out == {"set": "it is not numeric", "lone_a": "there is no lone_b"}
    assert "column set is not used: it is not numeric" in found.remarks()


def test_a_speed_measured_next_to_the_other_is_no_feature_but_the_speed_alone_is() -> None:
    lines = ["job_a,job_b,norm_a,norm_b,shared_a,shared_b,alone_a,alone_b,ms_a,ms_b"]
    for p in latent_pairs():
        alone_a, alone_b = 10.0 + len(p.a.name), 10.0 + len(p.b.name)
        shared = f"{alone_a * p.norm_a},{alone_b * p.norm_b},{alone_a},{alone_b},{1e3 / p.norm_a},{1e3 / p.norm_b}"
        lines.append(f'"{p.a.name}","{p.b.name}",{p.norm_a},{p.norm_b},{shared}')
    found = read_pairs("\n".join(lines), name="p.csv")
    assert found.features == ("alone",)
    assert set(found.left_out) == {"shared", "ms"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv, row 1: the column 'job_a' is missing; the file needs job_a, job_b, norm_a, norm_b"),
        ("job_a,job_b,norm_a\n", "p.csv, row 1: the column 'norm_b' is missing"),
        ("job_a,job_b,norm_a,norm_b,u_a,u_a\n", "p.csv, row 1: the column 'u_a' is there twice; rename one"),
        (HEADER, "p.csv: there are no pairs in it; add a row for each measured pair"),
        (HEADER + "a,b,0,0\n", "p.csv: there is no measured pair in it"),
        (HEADER + "a,b,1,1\na, and more,b,1,1\n", "p.csv, row 3: 5 cells under 4 columns; put names with commas in"),
        (HEADER + "a,b,1,1\n,b,1,1\n", "p.csv, row 3: job_a is empty; name both jobs"),
        (HEADER + "a,b,fast,1\n", "p.csv, row 2: norm_a is 'fast'; it must be a number, or empty"),
        (HEADER + "a,b,1,-0.1\n", "p.csv, row 2: norm_b is -0.1; it must lie in 0..1.5: divide the speed"),
        (HEADER + "a,b,1,95\n", "p.csv, row 2: norm_b is 95; it must lie in 0..1.5"),
        (
            "job_a,job_b,norm_a,norm_b,u_a,u_b\na,b,1,1,3,4\na,c,1,1,5,many\n",
            "p.csv, row 3: u_b is 'many'; the column is numeric elsewhere: correct or empty it",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_row_and_remedy(text: str, message: str) -> None:
    with pytest.raises(BadPairs) as caught:
        read_pairs(text, name="p.csv")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_left_out_pairs_are_predicted_well_by_latent_traits_and_by_features() -> None:
    for pairs in (latent_pairs(), crowded_pairs()):
        figures = evaluate(pairs, n_folds=5)
        assert figures["r2"] > 0.95
        assert figures["mae"] < 0.03
        assert figures["mape"] < 0.04
        assert figures["n"] == len(pairs)
        assert figures["within_2_sd"] > 0.85


def test_noise_cannot_be_predicted() -> None:
    """The same pairs with speeds drawn anew: were anything of a left-out pair learned from, this would look
    good.
    """
    random = np.random.default_rng(1)
    noise = [type(p)(p.a, p.b, *random.uniform(0.2, 1.0, 2)) for p in latent_pairs()]
    both_ways = [*noise, *(type(p)(p.b, p.a, p.norm_b, p.norm_a) for p in noise)]
    assert evaluate(both_ways, n_folds=5)["r2"] < 0.2


def test_bad_pairs_are_those_that_lose_by_sharing() -> None:
    pairs = [*latent_pairs(), *(type(p)(p.b, p.a, p.norm_b, p.norm_a) for p in latent_pairs())]
    figures = evaluate(pairs)
    assert figures["bad_below"] == 1.0
    assert figures["n_bad_pairs"] == sum(p.norm_a + p.norm_b < 1 for p in pairs)
    assert figures["auc_bad_pair"] > 0.95


def test_where_no_pair_loses_the_worst_tenth_is_bad() -> None:
    mild = [type(p)(p.a, p.b, 0.7 + 0.3 * p.norm_a, 0.7 + 0.3 * p.norm_b) for p in latent_pairs()]
    figures = evaluate(mild)
    assert figures["bad_below"] > 1.4
    assert 0 < figures["n_bad_pairs"] <= 1 + len(mild) / 10
    assert figures["auc_bad_pair"] > 0.9


def test_leaving_out_jobs_or_families_is_harder_than_leaving_out_pairs() -> None:
    mae = {group: evaluate(latent_pairs(), group=group)["mae"] for group in ("pair", "job", "family")}
    assert mae["pair"] < mae["job"] < mae["family"]


def test_every_pair_is_predicted_even_with_more_folds_than_groups() -> None:
    found = held_out(latent_pairs()[:5], n_folds=50, group="pair")
    assert found.shape == (5, 4)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("n_folds", "group", "message"),
    [
        (1, "pair", "--folds is 1; at least 2"),
        (5, "rack", "--group 'rack' is unknown; use pair, job, family or gpu_type"),
    ],
)
def test_impossible_folds_are_refused(n_folds: int, group: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(latent_pairs(), n_folds=n_folds, group=group)


def test_one_pair_alone_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="all rows are of one pair; at least two are needed"):
        evaluate(latent_pairs()[:1])


def test_the_command_writes_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.csv").write_text("\ufeff" + rows_of(latent_pairs()), encoding="utf-8")
    out = tmp_path / "out.json"
    assert main(["interference", "--pairs", str(tmp_path / "pairs.csv"), "--folds", "3", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert {"r2", "mae", "mape", "auc_bad_pair", "n"} <= set(figures)
    assert figures["n"] == len(latent_pairs())
    assert "features: none" in capsys.readouterr().out


def test_the_command_refuses_a_bad_file_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.csv").write_text("job,norm\n")
    assert main(["interference", "--pairs", str(tmp_path / "pairs.csv")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "the column 'job_a' is missing" in error


def test_a_whole_type_of_gpu_can_be_left_out() -> None:
    lines = ["gpu_type,job_a,job_b,norm_a,norm_b"]
    for power, gpu_type in ((1.0, "V100"), (1.2, "T4")):
        lines += [f'{gpu_type},"{p.a.name}","{p.b.name}",{p.norm_a**power},{p.norm_b**power}' for p in latent_pairs()]
    pairs = read_pairs("\n".join(lines), name="p.csv").pairs
    assert {p.a.gpu_type for p in pairs} == {"V100", "T4"}
    figures = evaluate(pairs, n_folds=2, group="gpu_type")
    assert figures["r2"] > 0.85
    assert figures["auc_bad_pair"] is None or figures["auc_bad_pair"] > 0.95
