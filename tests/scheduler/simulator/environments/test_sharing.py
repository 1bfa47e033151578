# SPDX-License-Identifier: Apache-2.0
"""The measured sharing environment, and the traces and tables of Gavel, on cases small enough to be worked out by
hand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scheduler import policy_named
from scheduler.simulator import simulate
from scheduler.simulator.environments.sharing import RETRY_S, START_S, SharingEnvironment
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import Cluster, uniform_cluster
from scheduler.simulator.traces.formats import read_trace
from scheduler.simulator.traces.gavel_tables import read_sharing
from scheduler.simulator.traces.trace import BadInput, Trace

ISOLATED = """worker_type,job_type,scale_factor,steps_per_s
v100,quick,1,1.0
v100,quick,2,2.0
v100_unconsolidated,quick,2,0.5
v100,slow,1,1.0
v100,huge,1,1.0
k80,quick,1,0.25
k80,huge,1,0.0
"""
PAIRS = """worker_type,job_a,scale_a,job_b,scale_b,norm_a,norm_b
v100,quick,1,slow,1,0.8,0.6
v100,slow,1,slow,1,0.4,0.4
v100,quick,1,quick,1,0.9,0.9
v100,quick,1,huge,1,0,0
v100,slow,1,huge,1,0.9,0.9
v100,quick,2,quick,2,0,0
"""
TABLES = read_sharing(("isolated.csv", ISOLATED), (("pairs.csv", PAIRS),), name="tables")


def line(model: str, *, steps: int = 100, gpus: int = 1, at: float = 0.0, weight: float = 1.0, slo: float = -1) -> str:
    return f"{model}\tpython3 main.py\tfolder\t--steps\t1\t{steps}\t{gpus}\t{weight:f}\t{slo:f}\t{at:f}\n"


def traced(*lines: str) -> Trace:
    return read_trace("".join(lines), name="case")


def jcts(
    trace: Trace, *, policy: str = "gandiva", gpus: int = 1, nodes: int = 1, gpu_type: str = "v100", **more: Any
) -> dict[str, float]:
    environment = SharingEnvironment(
        trace, uniform_cluster(n_nodes=nodes, n_gpus=gpus, gpu_type=gpu_type), TABLES, **more
    )
    found = summary(simulate(environment, policy=policy_named(policy, {})), nodes=environment.nodes)
    assert found["n_completed"] == found["n_submitted"] == len(trace.jobs)
    return found["jct_s"]


def test_gavels_lines_are_read_with_jobs_of_several_gpus() -> None:
    trace = traced(line("quick", steps=7, gpus=2, at=3.5, weight=4, slo=60), "\n", line("slow"))
    first, second = trace.jobs
    assert (trace.format, first.id, first.model, first.n_gpus, first.submitted_at_s) == ("gavel", "0", "quick", 2, 3.5)
    assert (first.priority, first.extra, first.row) == (2, {"total_steps": 7, "slo_s": 60.0}, 1)
    assert (second.id, second.priority, second.extra, second.row) == ("1", 0, {"total_steps": 100}, 3)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("quick\tx\t1\n", "case, row 2: 3 cells between tabs; Gavel's format has 10: job type, command, directory,"),
        (line("quick", gpus=0), "case, row 2: scale_factor is '0'; it must be a number of at least 1"),
        (line("quick", steps=0), "case, row 2: total_steps is '0'; it must be a number of at least 1"),
        (line("quick", at=-1), "case, row 2: arrival is '-1.000000'; it must be a number of at least 0"),
        (line("quick", weight=0), "case, row 2: weight is '0.000000'; it must be above 0"),
        (line(""), "case, row 2: the job type is empty; name one that was measured"),
    ],
)
def test_a_bad_line_is_named_with_its_remedy(bad: str, message: str) -> None:
    with pytest.raises(BadInput) as raised:
        traced(line("quick"), bad)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (line("odd"), "case, row 1: the job type 'odd' was not measured in tables; known: huge, quick, slow"),
        (line("slow", gpus=2), "case, row 1: job '0': 'slow' was not measured on 2 GPUs of this cluster; measured: 1"),
    ],
)
def test_a_job_that_was_not_measured_is_refused(bad: str, message: str) -> None:
    with pytest.raises(BadInput) as raised:
        jcts(traced(bad), gpus=2)
    assert str(raised.value).startswith(message)


def test_a_type_of_gpu_that_was_not_measured_is_refused() -> None:
    with pytest.raises(BadInput, match="node n0 has 'a100', which was not measured; gpu_type: k80, v100"):
        jcts(traced(line("quick")), gpu_type="a100")


def test_two_that_share_have_the_measured_speeds_until_one_ends() -> None:
    """The slow one does 100 / 0.8 · 0.6 = 75 steps next to the quick one, and 25 alone."""
    assert jcts(traced(line("quick"), line("slow"))) == {
        "0": pytest.approx(START_S + 125),
        "1": pytest.approx(START_S + 125 + 25),
    }


def test_of_two_that_do_not_fit_the_first_trains_as_if_alone_and_the_other_after_it() -> None:
    assert RETRY_S < 100
    assert jcts(traced(line("quick"), line("huge"))) == {
        "0": pytest.approx(START_S + 100),
        "1": pytest.approx(START_S + 200),
    }


def test_a_gang_over_several_servers_has_the_speed_measured_there() -> None:
    trace = traced(line("quick", gpus=2))
    assert jcts(trace, gpus=2) == {"0": pytest.approx(START_S + 50)}
    assert jcts(trace, nodes=2) == {"0": pytest.approx(START_S + 200)}


def test_gpus_without_a_name_are_v100_and_those_without_pairs_are_not_shared() -> None:
    trace = traced(line("quick"), line("quick"))
    assert jcts(trace, gpu_type="gpu")["1"] == pytest.approx(START_S + 100 / 0.9)
    assert jcts(trace, gpu_type="k80") == {"0": pytest.approx(START_S + 400), "1": pytest.approx(2 * (START_S + 400))}


def test_a_job_goes_only_where_it_runs() -> None:
    old, new = (uniform_cluster(n_nodes=1, n_gpus=1, gpu_type=t).nodes[0] for t in ("k80", "v100"))
    cluster = Cluster((old, replace(new, name="n1")), uniform_cluster(n_nodes=1, n_gpus=1).racks)
    environment = SharingEnvironment(traced(line("huge"), line("quick")), cluster, TABLES)
    assert [arrival.job.gpu_types for arrival in environment.arrivals] == [("v100",), ()]


def test_jobs_of_several_gpus_were_not_measured_together_with_others_and_do_not_share() -> None:
    assert jcts(traced(line("quick", gpus=2), line("quick", gpus=2)), gpus=2, policy="mlhub") == {
        "0": pytest.approx(START_S + 50),
        "1": pytest.approx(2 * (START_S + 50)),
    }


def test_a_pair_is_known_once_it_trained_together_or_from_the_start() -> None:
    trace = traced(line("slow"), line("slow", at=50), line("quick", at=1000), line("slow", at=1050))
    blind = SharingEnvironment(trace, uniform_cluster(n_nodes=1, n_gpus=1), TABLES)
    informed = SharingEnvironment(trace, uniform_cluster(n_nodes=1, n_gpus=1), TABLES, knows_pairs=True)
    assert not blind.pairs
    simulate(blind, policy=policy_named("gandiva", {}))
    seen = {(pair.family_a, pair.family_b): (pair.norm_a, pair.norm_b) for pair in blind.pairs}
    assert seen == {("slow", "slow"): (0.4, 0.4), ("quick", "slow"): (0.8, 0.6)}
    assert len(informed.pairs) == 3  # quick and quick, too


def test_mlhubs_own_traces_are_as_long_as_they_say_on_a_v100() -> None:
    text = "job,submitted_at_s,n_gpus,duration_s,tenant,model\na,0,1,100,alice,quick\nb,0,1,100,bob,huge\n"
    assert jcts(read_trace(text, name="day.csv"), gpus=2) == {
        "a": pytest.approx(START_S + 100),
        "b": pytest.approx(START_S + 100),
    }


@pytest.mark.parametrize("policy", ["fifo", "srsf", "gandiva", "gavel", "antman", "muri", "mlhub"])
def test_all_jobs_complete_whichever_share(policy: str) -> None:
    models = ("quick", "slow", "huge")
    lines = [line(models[i % 3], steps=50 + 37 * (i % 7), at=20.0 * i) for i in range(24)]
    lines += [line("quick", gpus=2, at=100.0), line("quick", gpus=2, at=130.0)]
    assert len(jcts(traced(*lines), gpus=2, policy=policy)) == 26
