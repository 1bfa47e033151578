# SPDX-License-Identifier: Apache-2.0
"""The round, by hand: who is settled before any policy, what is kept, how room is made, what promises are worth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler import POLICIES, Keep, Launch, Mode, Preempt, Resize, Wait, plan_to_json
from tests.scheduler.cases import GIB, cluster, job, kinds, reason, sizes

every_policy = pytest.mark.parametrize("policy", sorted(POLICIES))


@every_policy
def test_a_job_that_fits_is_launched(policy: str) -> None:
    plan = cluster(gpus=4).waiting(job("a", gpus=2)).decide(policy)
    launch = plan.of("a")
    assert isinstance(launch, Launch)
    assert launch.allocation.n_workers == 2
    assert [(s.node, s.gpus) for s in launch.allocation.shares] == [("n0", (0, 1))]
    assert launch.prediction.finish_p50_s == pytest.approx(1100.0)


@every_policy
def test_no_job_starts_on_a_gpu_that_cannot_be_used(policy: str) -> None:
    case = cluster(nodes=1, gpus=4).with_node("n0", unusable_gpus=(0, 2))
    plan = case.waiting(job("a", gpus=2), job("b", gpus=1, at=1.0)).decide(policy)
    used = [gpu for d in plan.decisions if isinstance(d, Launch) for s in d.allocation.shares for gpu in s.gpus]
    assert used
    assert set(used) <= {1, 3}


@every_policy
def test_a_job_on_hold_waits_for_that_reason(policy: str) -> None:
    case = cluster().waiting(job("a", gpus=1, hold="preflight"))
    case = case.waiting(job("b", gpus=1, hold="backoff", hold_until_s=1007.0))
    plan = case.decide(policy)
    assert reason(plan.of("a")) == "preflight"
    assert plan.of("b").explanations[0].sentence.endswith("another one may start in 7 s.")


@every_policy
def test_what_can_never_run_is_reported_and_delays_no_other(policy: str) -> None:
    case = (
        cluster(nodes=2, gpus=4)
        .quota("bob", max_gpus=2)
        .waiting(job("huge", gpus=9), job("beyond", gpus=4, tenant="bob"), job("small", gpus=1, at=5.0))
        .waiting(job("hungry", gpus=2, cpus_per_worker=65.0), job("picky", gpus=1, gpu_types=("h100",)))
    )
    plan = case.decide(policy)
    assert plan.of("huge").explanations[0].sentence == "Pending: it requests 9 GPUs, but the whole cluster has 8."
    assert plan.of("beyond").explanations[0].sentence == (
        "Pending: it requests 4 GPUs, but the quota of bob never allows more than 2. "
        "An admin of the platform can raise it."
    )
    assert reason(plan.of("hungry")) == "never_fits_nodes"
    assert reason(plan.of("picky")) == "larger_than_type"
    assert isinstance(plan.of("small"), Launch)


@every_policy
def test_a_job_without_room_for_its_parameter_server_holds_up_no_other(policy: str) -> None:
    """Its workers alone fit: it stood at the head of the queue for ever, and others behind it."""
    of_servers = {"mode": Mode.PARAMETER_SERVER, "cpus_per_worker": 2.0, "cpus_per_server": 1.0}
    case = cluster(nodes=2, gpus=1, cpus=2.0).waiting(job("full", gpus=2, **of_servers), job("behind", gpus=1, at=5.0))
    plan = case.decide(policy)
    assert plan.of("full").explanations[0].sentence == (
        "Pending: even the empty cluster has room for only 1 of 2 workers with 2 CPUs and 0.0 GiB each "
        "(parameter servers need CPUs, too)."
    )
    assert isinstance(plan.of("behind"), Launch)
    roomy = cluster(nodes=3, gpus=1, cpus=2.0).waiting(job("full", gpus=2, **of_servers))
    assert isinstance(roomy.decide(policy).of("full"), Launch)


@every_policy
def test_without_nodes_every_job_waits_for_a_node(policy: str) -> None:
    plan = cluster().without_node("n0").waiting(job("a", gpus=1)).decide(policy)
    assert reason(plan.of("a")) == "no_nodes"


@every_policy
def test_jobs_on_their_way_in_or_out_are_left_alone_and_keep_their_gpus(policy: str) -> None:
    case = cluster(gpus=4).starting(job("in", gpus=2)).stopping(job("out", gpus=2)).waiting(job("next", gpus=2))
    plan = case.decide(policy)
    assert (kinds(plan)["in"], kinds(plan)["out"]) == ("Keep", "Keep")
    assert reason(plan.of("out")) == "stopping"
    assert plan.of("next").explanations[0].sentence == (
        "Pending: 2 GPUs are reserved for it; preemption of 1 job is under way."
    )


@every_policy
def test_a_job_goes_on_where_a_node_takes_no_new_ones(policy: str) -> None:
    case = cluster(nodes=2, gpus=2).running(job("a", gpus=2)).with_node("n0", is_schedulable=False)
    plan = case.waiting(job("b", gpus=2), job("c", gpus=4)).decide(policy)
    assert reason(plan.of("a")) == "node_cordoned"
    assert [share.node for share in plan.of("b").allocation.shares] == ["n1"]
    assert reason(plan.of("c")) == "nodes_cordoned"


@every_policy
def test_a_job_whose_node_left_is_preempted(policy: str) -> None:
    plan = cluster(nodes=2, gpus=2).running(job("a", gpus=4)).without_node("n1").decide(policy)
    assert isinstance(plan.of("a"), Preempt)
    assert plan.of("a").explanations[0].sentence == "Node n1 has left the cluster."


@every_policy
def test_a_quota_that_was_cut_takes_jobs_back(policy: str) -> None:
    case = cluster(gpus=4).running(job("a", gpus=2, tenant="bob"), since=1.0)
    case = case.running(job("b", gpus=2, tenant="bob"), since=2.0).quota("bob", max_gpus=2)
    plan = case.decide(policy)
    assert sorted(kinds(plan).values()) == ["Keep", "Preempt"]
    victim = next(d for d in plan.decisions if isinstance(d, Preempt))
    assert victim.explanations[0].sentence == "Over quota: bob uses 4 GPUs and may use 2."


@every_policy
def test_a_quota_of_running_jobs_makes_the_second_wait(policy: str) -> None:
    case = cluster(gpus=4).quota("bob", max_running_jobs=1)
    plan = case.waiting(job("a", gpus=1, tenant="bob"), job("b", gpus=1, tenant="bob", at=1.0)).decide(policy)
    assert sorted(kinds(plan).values()) == ["Launch", "Wait"]
    waiting = next(d for d in plan.decisions if isinstance(d, Wait))
    assert waiting.explanations[0].sentence == (
        "Insufficient quota: bob runs 1 of its 1 job at once. An admin of the platform can raise that."
    )


@every_policy
def test_the_limits_of_a_parent_hold_for_its_children_together(policy: str) -> None:
    case = cluster(gpus=8).quota("lab", max_gpus=4).quota("alice", parent="lab").quota("bob", parent="lab")
    plan = case.waiting(job("a", gpus=3), job("b", gpus=3, tenant="bob", at=1.0)).decide(policy)
    assert sorted(kinds(plan).values()) == ["Launch", "Wait"]
    waiting = next(d for d in plan.decisions if isinstance(d, Wait))
    assert waiting.explanations[0].sentence == (
        "Insufficient quota: lab uses 3 of its 4 GPUs; 3 more would exceed the quota. "
        "An admin of the platform can raise it."
    )


@every_policy
def test_a_gang_is_never_split_for_want_of_cpus(policy: str) -> None:
    case = cluster(nodes=2, gpus=4, cpus=8.0).running(job("a", gpus=1, cpus_per_worker=8.0))
    plan = case.waiting(job("b", gpus=2, cpus_per_worker=8.0)).decide(policy)
    assert isinstance(plan.of("b"), Wait)
    assert plan.of("b").explanations[0].sentence == (
        "Pending: 7 GPUs are free, but no placement of 2 GPUs fits (fragmentation)."
    )


@every_policy
def test_memory_of_a_node_is_a_limit(policy: str) -> None:
    case = cluster(gpus=4, memory_bytes=10 * GIB).running(job("a", gpus=1, memory_per_worker_bytes=8 * GIB))
    plan = case.waiting(job("b", gpus=1, memory_per_worker_bytes=4 * GIB)).decide(policy)
    assert plan.of("b").explanations[0].sentence == (
        "Pending: no node with a free GPU has 1 CPU and 4.0 GiB of memory left."
    )


def test_a_preempted_jobs_gpus_are_given_away_only_when_it_has_left() -> None:
    case = cluster(gpus=4).running(job("long", gpus=4, length_s=5000)).waiting(job("short", gpus=4, length_s=10))
    first = case.decide("srtf")
    assert kinds(first) == {"long": "Preempt", "short": "Wait"}
    second = case.after(first)
    assert kinds(second.decide("srtf")) == {"long": "Keep", "short": "Wait"}
    third = second.after(second.decide("srtf"))
    assert kinds(third.decide("srtf")) == {"long": "Wait", "short": "Launch"}


def test_no_other_job_is_preempted_while_room_is_being_made() -> None:
    case = cluster(gpus=4).stopping(job("leaving", gpus=2, length_s=9000)).running(job("b", gpus=2, length_s=8000))
    plan = case.waiting(job("short", gpus=2, length_s=10)).decide("srtf")
    assert kinds(plan) == {"leaving": "Keep", "b": "Keep", "short": "Wait"}


def test_a_victim_in_no_job_s_way_stays() -> None:
    """The shorter job outranks the running one, but even an empty cluster has no CPUs for its servers."""
    pinned = job("servers", gpus=4, length_s=1, mode=Mode.PARAMETER_SERVER, cpus_per_server=1000.0)
    case = cluster(gpus=4).running(job("a", gpus=4, length_s=5000)).waiting(pinned)
    plan = case.decide("srtf")
    assert kinds(plan) == {"a": "Keep", "servers": "Wait"}


def test_a_resized_job_is_launched_where_it_was_promised_even_if_shorter_ones_came() -> None:
    elastic = job("a", length_s=50_000, start_s=1.0)
    case = cluster(gpus=4).running(elastic, n=2)
    resized = case.decide("mlhub")
    assert isinstance(resized.of("a"), Resize)
    assert sizes(resized) == {"a": 4}
    stopping = case.after(resized).waiting(job("b", gpus=2, length_s=1))
    held_back = stopping.decide("mlhub")
    assert isinstance(held_back.of("b"), Wait)
    back = stopping.after(held_back).decide("mlhub")
    assert reason(back.of("a")) == "resumes_resized"
    assert back.of("a").allocation == resized.of("a").allocation


def test_a_promise_to_a_node_that_left_is_dropped() -> None:
    case = cluster(nodes=2, gpus=2).running(job("a", length_s=50_000, start_s=1.0), n=2)
    resized = case.decide("mlhub")
    assert sizes(resized) == {"a": 4}
    stopped = case.after(resized)
    gone = stopped.after(stopped.decide("mlhub")).without_node("n1").decide("mlhub")
    assert sizes(gone) == {"a": 2}


@every_policy
def test_a_contradictory_snapshot_is_refused_by_name(policy: str) -> None:
    case = cluster()
    with pytest.raises(ValueError, match="job 'a' appears twice"):
        case.waiting(job("a", gpus=1), job("a", gpus=1)).decide(policy)
    with pytest.raises(ValueError, match="tenant 'nobody' is not in the snapshot"):
        case.waiting(job("a", gpus=1, tenant="nobody")).decide(policy)
    with pytest.raises(ValueError, match="'a' is its own ancestor"):
        case.quota("a", parent="b").quota("b", parent="a").decide(policy)
    with pytest.raises(ValueError, match="unknown hold 'tired'"):
        case.waiting(job("a", gpus=1, hold="tired")).decide(policy)


@every_policy
def test_waiting_jobs_learn_when_they_are_expected_to_start(policy: str) -> None:
    case = cluster(gpus=4).running(job("a", gpus=4, length_s=100)).waiting(job("b", gpus=4, length_s=300))
    plan = case.decide(policy)
    takes_turns = kinds(plan)["a"] == "Preempt"  # b goes first then, as soon as a has left
    prediction = plan.of("b").prediction
    assert prediction.start_p50_s == pytest.approx(1000.0 if takes_turns else 1100.0)
    assert prediction.finish_p50_s == pytest.approx(1300.0 if takes_turns else 1400.0)
    assert prediction.finish_p90_s > prediction.finish_p50_s


def test_a_plan_keeps_the_same_jobs_when_the_policy_changes() -> None:
    case = cluster(gpus=4).waiting(job("a", gpus=2))
    changed = replace(case, memory=case.decide("mlhub").memory).decide("fifo")
    assert plan_to_json(changed)["policy"] == "fifo"
    assert not isinstance(changed.of("a"), Keep)
