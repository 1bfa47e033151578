# SPDX-License-Identifier: Apache-2.0
"""mlhub quota: boosts that are made, listed and ended; requests for more, and their answers."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.commands.tenancy.quota_rules import impact_sentence
from mlhub.cli.failures import CommandStatus
from mlhub.clusters.models import Node, Rack
from mlhub.tenants.actions import bind_role, boost_quota, create_token, quota_of, request_quota, set_quota
from mlhub.tenants.roles import Role
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_boost_is_made_listed_and_ended_by_name(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    argv = ["quota", "boost", "vision", "--guarantee", "2", "--hours", "3", "--reason", "a deadline"]
    assert main(argv) == CommandStatus.REFUSED
    assert "admin" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(argv) == CommandStatus.OK
    made = capsys.readouterr().out.strip()
    assert main(["-o", "json", "quota", "boosts"]) == CommandStatus.OK
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["owner"], row["extra_guarantee"]) for row in rows] == [(made, "vision", 2)]
    assert main(["quota", "end-boost", made]) == CommandStatus.OK
    assert main(["quota", "end-boost", made]) == CommandStatus.REFUSED
    assert main(["quota", "boost", "visoin", "--guarantee", "1", "--hours", "1"]) == CommandStatus.REFUSED
    assert "visoin" in capsys.readouterr().err


def test_the_guarantee_has_boosts_in_it_alone_and_in_the_tree(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    boost_quota(bob.a, extra_guarantee=3, ends_at=timezone.now() + timedelta(hours=1), actor=bob.root)
    for command in (["quota"], ["quota", "tree"]):
        assert main(["-o", "json", *command]) == CommandStatus.OK
        row = next(
            one for one in json.loads(capsys.readouterr().out) if "A" in (one.get("organisation"), one.get("name"))
        )
        assert (row["guarantee"], row["guaranteed"]) == (4, 7), command
    assert main(["quota"]) == CommandStatus.OK
    assert " 7 " in capsys.readouterr().out


def test_a_request_is_made_listed_and_answered(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    asked = ["quota", "request", "vision", "--guarantee", "3", "--reason", "two papers are due"]
    assert main(asked) == CommandStatus.OK
    first = capsys.readouterr().out.strip()
    assert main([*asked, "--hours", "2"]) == CommandStatus.OK
    second = capsys.readouterr().out.strip()
    assert main(["quota", "approve", first]) == CommandStatus.REFUSED
    assert "admin" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    capsys.readouterr()
    assert main(["quota", "approve", first, "--dry-run"]) == CommandStatus.OK
    assert "Nothing was changed" in " ".join(capsys.readouterr().err.split())
    assert quota_of(bob.project_a).guarantee is None
    assert main(["quota", "approve", str(bob.a.pk), "--dry-run"]) == CommandStatus.REFUSED
    assert main(["quota", "approve", first, "--guarantee", "2"]) == CommandStatus.OK
    assert main(["quota", "withdraw", second]) == CommandStatus.OK
    assert quota_of(bob.project_a).guarantee == 2
    capsys.readouterr()
    assert main(["-o", "json", "quota", "requests"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out) == []
    assert main(["-o", "json", "quota", "requests", "--all"]) == CommandStatus.OK
    assert [row["state"] for row in json.loads(capsys.readouterr().out)] == ["withdrawn", "approved"]
    assert main(["quota", "refuse", first, "--note", "too late"]) == CommandStatus.REFUSED


def test_a_boost_and_a_request_name_a_gpu_type(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.project_a, gpus_by_type={"A100": 1}, actor=bob.alice)
    assert main(["quota", "request", "vision", "--gpus-of-type", "H100=1", "--reason", "x"]) == CommandStatus.REFUSED
    assert "Name types that it limits: A100." in capsys.readouterr().err
    assert main(["quota", "request", "vision", "--gpus-of-type", "A100", "--reason", "x"]) != CommandStatus.OK
    assert "Give one as A100=2." in capsys.readouterr().err
    assert main(["quota", "request", "vision", "--gpus-of-type", "A100=3", "--reason", "x"]) == CommandStatus.OK
    asked = capsys.readouterr().out.strip()
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["quota", "requests"]) == CommandStatus.OK
    assert "A100 +3" in capsys.readouterr().out
    assert main(["quota", "approve", asked, "--gpus-of-type", "A100=2"]) == CommandStatus.OK
    assert main(["quota", "boost", "vision", "--gpus-of-type", "A100=4", "--hours", "1"]) == CommandStatus.OK
    assert quota_of(bob.project_a).gpus_by_type == {"A100": 3}
    capsys.readouterr()
    assert main(["quota", "tree"]) == CommandStatus.OK
    assert "A100 0 of 7" in capsys.readouterr().out


def test_a_boost_and_a_request_guarantee_gpus_of_a_type(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    rack = Rack.objects.create(name="rack", uplink_bps=1e10)
    of_node = {"cpus": 8, "memory_bytes": 2**30, "nic_bps": 1e9, "observed_at": timezone.now()}
    Node.objects.create(name="a-1", rack=rack, gpu_type="A100", n_slots=8, **of_node)
    set_quota(bob.a, guarantee=4, guarantee_by_type={"A100": 4}, actor=bob.root)
    ask = ["quota", "request", "vision", "--reason", "x", "--guarantee-of-type"]
    assert main([*ask, "A10=3"]) == CommandStatus.REFUSED
    assert "Name types that it has: A100." in capsys.readouterr().err
    assert main([*ask, "A100"]) != CommandStatus.OK
    assert "Give one as A100=2." in capsys.readouterr().err
    assert main([*ask, "A100=3"]) == CommandStatus.OK
    asked = capsys.readouterr().out.strip()
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["quota", "requests"]) == CommandStatus.OK
    assert "A100 +3" in capsys.readouterr().out
    assert main(["quota", "approve", asked, "--guarantee-of-type", "A100=2"]) == CommandStatus.OK
    assert quota_of(bob.project_a).guarantee_by_type == {"A100": 2}
    boost = ["quota", "boost", "vision", "--guarantee-of-type", "A100=2", "--hours", "1"]
    assert main([*boost, "--dry-run"]) == CommandStatus.OK
    assert "Nothing was changed." in capsys.readouterr().err
    assert main(["quota", "boosts"]) == CommandStatus.OK
    assert "A100" not in capsys.readouterr().out
    assert main(boost) == CommandStatus.OK
    capsys.readouterr()
    assert main(["quota", "tree"]) == CommandStatus.OK
    assert "A100 0 of 4" in capsys.readouterr().out
    assert main(boost) == CommandStatus.REFUSED
    assert "parts of A would be guaranteed 6 GPUs of type A100 now, and it has 4" in capsys.readouterr().err


def test_limits_of_borrowing_and_lending_of_a_type_are_set_and_the_tree_shows_guarantees_with_boosts(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    rack = Rack.objects.create(name="rack", uplink_bps=1e10)
    of_node = {"cpus": 8, "memory_bytes": 2**30, "nic_bps": 1e9, "observed_at": timezone.now()}
    Node.objects.create(name="a-1", rack=rack, gpu_type="A100", n_slots=8, **of_node)
    set_quota(bob.a, guarantee=6, guarantee_by_type={"A100": 4}, actor=bob.root)
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    change = ["quota", "set", "vision", "--guarantee-of-type", "A100=2"]
    limits = [*change, "--borrow-limit-of-type", "A100=3", "--lend-limit-of-type", "A100=1"]
    assert main([*limits, "--dry-run"]) == CommandStatus.OK
    assert quota_of(bob.project_a).lend_limit_by_type == {}
    assert main(limits) == CommandStatus.OK
    assert quota_of(bob.project_a).borrow_limit_by_type == {"A100": 3}
    capsys.readouterr()
    assert main(["quota", "set", "vision", "--lend-limit-of-type", "A10O=0"]) == CommandStatus.REFUSED
    shown = capsys.readouterr().err
    assert "The cluster has no GPUs of type A10O, so none can be lent." in shown
    assert "Name types that it has: A100." in shown
    assert main(["quota", "set", "vision", "--borrow-limit-of-type", "A100"]) != CommandStatus.OK
    assert "Give one as A100=2, or A100=none." in capsys.readouterr().err
    boost = ["quota", "boost", "vision", "--guarantee", "2", "--guarantee-of-type", "A100=1", "--hours", "1"]
    assert main(boost) == CommandStatus.OK
    capsys.readouterr()
    assert main(["-o", "json", "quota", "tree"]) == CommandStatus.OK
    row = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "vision")
    assert (row["guarantee"], row["guaranteed"], row["guarantee_by_type"]) == (None, 5, {"A100": 2})
    assert main(["quota", "tree"]) == CommandStatus.OK
    heading, *rows = capsys.readouterr().out.splitlines()
    vision = next(row for row in rows if row.startswith("vision"))
    assert "A100 0 of 3 (0 of at most 1 lent, 0 of at most 3 borrowed)" in vision
    at = heading.index(" GUARANTEE ") + 1  # the other column of this name goes on
    assert vision[at : at + len("GUARANTEE")].strip() == "5"
    for limit in ("--lend-limit-of-type", "--borrow-limit-of-type"):
        assert main(["quota", "set", "vision", limit, "A100=none"]) == CommandStatus.OK
    assert (quota_of(bob.project_a).borrow_limit_by_type, quota_of(bob.project_a).lend_limit_by_type) == ({}, {})


def test_limits_of_users_are_set_listed_and_removed(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    for argv in (
        ["quota", "users", "set", "vision", "everyone", "--gpus", "2", "--gpus-of", "A100=1"],
        ["quota", "users", "set", "vision", "bob", "--running-jobs", "3", "--gpus-of", "T4=4", "--gpu-hours", "20"],
    ):
        assert main(argv) == CommandStatus.REFUSED  # bob is no admin
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    for argv in (
        ["quota", "users", "set", "vision", "everyone", "--gpus", "2", "--gpus-of", "A100=1"],
        ["quota", "users", "set", "vision", "bob", "--running-jobs", "3", "--gpus-of", "T4=4", "--gpu-hours", "20"],
        ["quota", "users", "set", "vision", "bob", "--gpus", "none", "--cpus", "8", "--memory-gib", "1.5"],
    ):
        assert main(argv) == CommandStatus.OK, capsys.readouterr()
    capsys.readouterr()
    assert main(["-o", "json", "quota", "users", "ls", "vision"]) == CommandStatus.OK
    everyone, own = json.loads(capsys.readouterr().out)
    assert (everyone["user"], everyone["max_gpus"], everyone["gpus_by_type"]) == (None, 2, {"A100": 1})
    assert (own["user"]["username"], own["max_gpus"], own["max_running_jobs"]) == ("bob", None, 3)
    assert own["gpus_by_type"] == {"A100": 1, "T4": 4}
    assert (own["max_cpus"], own["max_memory_bytes"]) == (8, 3 * 2**29)
    assert [one["gpu_hours"] for one in own["budgets"]] == [20.0]
    assert main(["quota", "users", "ls", "vision"]) == CommandStatus.OK
    table = capsys.readouterr().out
    assert "A100: 0 of 1, T4: 0 of 4" in table
    assert "0 of 8" in table
    assert "0 B of 1.5 GiB" in table
    assert main(["quota", "users", "set", "vision", "bob", "--gpus", "many"]) != CommandStatus.OK
    assert main(["quota", "users", "set", "vision", "bob"]) != CommandStatus.OK
    assert main(["quota", "users", "rm", "vision", "bob", "--yes"]) == CommandStatus.OK
    assert main(["quota", "users", "rm", "vision", "bob", "--yes"]) == CommandStatus.REFUSED


def test_a_quota_is_previewed_and_set_by_name(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    argv = ["quota", "set", "vision", "--guarantee", "3", "--max-gpus", "8", "--reclaim", "never", "--weight", "2"]
    assert main([*argv, "--dry-run"]) == CommandStatus.OK
    assert "Nothing would change for jobs at present. Nothing was changed." in capsys.readouterr().err
    assert main(argv) == CommandStatus.REFUSED
    assert "admin" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(argv) == CommandStatus.OK
    found = quota_of(bob.project_a)
    assert (found.guarantee, found.max_gpus, found.reclaim, found.weight) == (3, 8, "never", 2.0)
    assert main(["quota", "set", "vision", "--max-gpus", "none", "--max-priority", "20"]) == CommandStatus.OK
    found = quota_of(bob.project_a)
    assert (found.guarantee, found.max_gpus, found.max_priority) == (3, None, 20)
    limits = ["--gpus-of-type", "A100=2", "--gpus-of-type", "K80=4", "--waiting-jobs", "9", "--storage-gib", "1.5"]
    assert main(["quota", "set", "vision", *limits]) == CommandStatus.OK
    assert main(["quota", "set", "vision", "--gpus-of-type", "K80=none"]) == CommandStatus.OK
    assert main(["quota", "set", "vision", "--cpus", "16", "--memory-gib", "64"]) == CommandStatus.OK
    assert main(["quota", "set", "vision", "--memory-gib", "1.5"]) == CommandStatus.OK
    found = quota_of(bob.project_a)
    assert (found.gpus_by_type, found.max_waiting_jobs, found.max_storage_bytes) == ({"A100": 2}, 9, 1.5 * 2**30)
    assert (found.max_cpus, found.max_memory_bytes) == (16, 1.5 * 2**30)
    assert main(["quota", "set", "vision", "--guarantee", "5"]) == CommandStatus.REFUSED  # A has 4
    assert "guarantee" in capsys.readouterr().err
    for wrong in (
        ["--guarantee", "many"],
        [],
        ["--reclaim", "sometimes"],
        ["--gpus-of-type", "A100"],
        ["--cpus", "few"],
    ):
        assert main(["quota", "set", "vision", *wrong]) != CommandStatus.OK
    assert main(["quota", "set", "A", "--max-gpus", "9"]) == CommandStatus.REFUSED  # administrators of the platform
    capsys.readouterr()
    assert main(["-o", "json", "quota", "ls"]) == CommandStatus.OK
    assert {row["name"]: row["guarantee"] for row in json.loads(capsys.readouterr().out)} == {"A": 4, "vision": 3}


def test_the_impact_counts_what_starts_and_what_is_given_back() -> None:
    def effect(before: str, after: str, *n_workers: int) -> dict[str, object]:
        sides = zip((before, after), n_workers or (1, 1), strict=True)
        first, second = ({"decision": decision, "n_workers": n} for decision, n in sides)
        return {"before": first, "after": second}

    found = [effect("keep", "preempt"), effect("wait", "launch"), effect("wait", "launch"), effect("launch", "wait")]
    said = "1 running job gives GPUs back; 2 waiting jobs start now; 1 job that would start now waits."
    assert impact_sentence(found) == said
    assert impact_sentence([effect("keep", "resize", 4, 2)]) == "1 running job gives GPUs back."
    assert impact_sentence([effect("keep", "resize", 2, 4)]) == "Nothing would change for jobs at present."


def test_an_outsider_lists_the_quotas_of_their_projects(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    bob.a.memberships.filter(user=bob.bob).update(role="outsider")
    assert main(["-o", "json", "quota", "ls"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out) == []
    bind_role(bob.project_a, username="bob", role=Role.MEMBER, actor=bob.alice)
    assert main(["-o", "json", "quota", "ls"]) == CommandStatus.OK
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["vision"]
    assert main(["quota"]) == CommandStatus.OK


def test_the_tree_shows_limits_of_every_node_with_what_is_used(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = {"max_cpus": 16, "max_memory_bytes": 2**36}
    limits = {"gpus_by_type": {"A100": 2}, "max_waiting_jobs": 5, "max_storage_bytes": 2**30, **host}
    set_quota(bob.project_a, **limits, actor=None)
    assert main(["quota", "tree"]) == CommandStatus.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "vision project 0, no limit A100 0 of 2 none 0 of 16 0 B of 64.0 GiB" in shown
    assert "0 of 5 0 B of 1.0 GiB" in shown
    assert main(["-o", "json", "quota"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)[0]["used"]["waiting_jobs"] == 0


def test_budgets_are_set_one_by_one_and_shown_with_what_is_used(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.project_a, budgets=[{"gpu_hours": 9, "period": "once"}], actor=bob.root)
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    change = ["quota", "set", "vision", "--budget"]
    assert main([*change, "month=500,stop_new", "--budget", "week:A100=40"]) == CommandStatus.OK
    assert main([*change, "month=600", "--budget", "once=none"]) == CommandStatus.OK
    assert quota_of(bob.project_a).budgets == [
        {"gpu_hours": 600.0, "period": "month", "on_exhausted": "stop_new", "gpu_type": ""},
        {"gpu_hours": 40.0, "period": "week", "on_exhausted": "alert", "gpu_type": "A100"},
    ]
    capsys.readouterr()
    assert main(["quota", "tree"]) == CommandStatus.OK
    assert "0.0 of 600 a month, 0.0 of 40 a week A100" in " ".join(capsys.readouterr().out.split())
    for wrong, word in (
        ("year=5", "no period"),
        ("month", "no period"),
        ("month=5,stop", "stop_new"),
        ("day=x", "no GPU-hours"),
        ("day=nan", "no GPU-hours"),
        ("day=inf", "no GPU-hours"),
    ):
        assert main([*change, wrong]) == CommandStatus.USAGE
        assert word in " ".join(capsys.readouterr().err.split()), wrong
    assert main([*change, "day=-1"]) == CommandStatus.REFUSED
    assert len(quota_of(bob.project_a).budgets) == 2


def test_guarantees_of_types_are_set_one_by_one_and_shown(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee_by_type={"A100": 4, "T4": 2}, actor=bob.root)
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["quota", "set", "vision", "--guarantee-of-type", "A100=3", "--guarantee-of-type", "T4=1"]) == 0
    assert main(["quota", "set", "vision", "--guarantee-of-type", "T4=none"]) == CommandStatus.OK
    assert quota_of(bob.project_a).guarantee_by_type == {"A100": 3}
    capsys.readouterr()
    assert main(["quota", "tree"]) == CommandStatus.OK
    assert "A100 0 of 3" in capsys.readouterr().out
    assert main(["quota", "set", "vision", "--guarantee-of-type", "A100=5"]) == CommandStatus.REFUSED
    assert "Give at most 4" in capsys.readouterr().err
    assert main(["quota", "set", "vision", "--guarantee-of-type", "A100"]) == CommandStatus.USAGE
    assert "A100=2" in capsys.readouterr().err


def test_every_command_about_quotas_warns_of_guarantees_that_the_cluster_cannot_honour(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    rack = Rack.objects.create(name="r1", uplink_bps=1e9)
    Node.objects.create(
        name="n1",
        rack=rack,
        gpu_type="T4",
        n_slots=2,
        cpus=4,
        memory_bytes=1,
        nic_bps=1e9,
        observed_at=timezone.now(),
    )
    set_quota(bob.a, guarantee=2, actor=bob.root)
    assert main(["quota"]) == CommandStatus.OK
    assert "Warning" not in capsys.readouterr().err
    set_quota(bob.b, guarantee=5, actor=bob.root)
    for command in (["quota"], ["quota", "ls"], ["quota", "tree"]):
        assert main(command) == CommandStatus.OK
        warned = capsys.readouterr().err.replace("\n", " ")
        assert "Warning: organisations are guaranteed more GPUs in sum than the 2 that the" in warned, command
    assert main(["node", "ls"]) == CommandStatus.OK
    assert "Warning" not in capsys.readouterr().err  # bob may not know of others
    _, token = create_token(bob.root, name="terminal", scopes=["read", "write", "admin"], expires_in_days=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MLHUB_TOKEN", token)
        for command in (["quota", "set", "B", "--guarantee", "6"], ["node", "ls"], ["quota", "ls"]):
            assert main(command) == CommandStatus.OK
            warned = capsys.readouterr().err.replace("\n", " ")
            assert warned.count("guaranteed 8 GPUs in sum, and the cluster has 2") == 1, command
        assert main(["quota", "boost", "A", "--guarantee", "1", "--hours", "1"]) == CommandStatus.OK
        assert "guaranteed 9 GPUs in sum" in capsys.readouterr().err.replace("\n", " ")
        for wish in (["set", "A", "--guarantee", "4"], ["boost", "A", "--guarantee", "1", "--hours", "1"]):
            assert main(["quota", *wish, "--dry-run"]) == CommandStatus.OK
            warned = capsys.readouterr().err.replace("\n", " ")
            sum_then = 11 if wish[0] == "set" else 10
            assert f"would be guaranteed {sum_then} GPUs in sum, and the cluster has 2" in warned, wish
        asked = request_quota(bob.a, extra_guarantee=3, reason="two papers are due", actor=bob.bob)
        assert main(["quota", "approve", str(asked.pk)]) == CommandStatus.OK
        warned = capsys.readouterr().err.replace("\n", " ")
        assert "Warning: organisations are guaranteed 12 GPUs in sum, and the cluster has 2" in warned
