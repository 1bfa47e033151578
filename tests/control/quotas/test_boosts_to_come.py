# SPDX-License-Identifier: Apache-2.0
"""Boosts that begin at a later time: what is accepted, who sees them, and what happens at their beginning and end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.control.quotas.boosts import extras_now
from mlhub.control.tasks import watch_boosts
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.actions import gpu_limits_above, set_quota
from mlhub.tenants.models import Organisation, Project, QuotaBoost
from tests.cast import Cast, make_cast
from tests.control.quotas.test_quota_requests import answer, ask
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def at(hours: float) -> str:
    return (timezone.now() + hours * HOUR).isoformat()


def reserve(
    cast: Cast, by: Any, starts: str | None, ends: str, *, of: Organisation | Project, status: int = 201, **body: Any
) -> dict[str, Any]:
    body = {"extra_guarantee": 1, "starts_at": starts, "ends_at": ends, **body}
    found = cast.client(by).post(_path(of), body, format="json")
    assert found.status_code == status, found.json()
    shown: dict[str, Any] = found.json()
    return shown


def _path(of: Organisation | Project) -> str:
    return f"/api/v1/{type(of).__name__.lower()}s/{of.pk}/quota/boosts"


def kinds() -> list[str]:
    found = Event.objects.filter(kind__startswith="quota.boost").order_by("id")
    return [kind.removeprefix("quota.") for kind in found.values_list("kind", flat=True)]


def test_it_is_listed_with_its_beginning_and_adds_nothing_before(cast: Cast) -> None:
    set_quota(cast.a, guarantee=2, max_gpus=4, actor=cast.root)
    set_quota(cast.project_a, max_gpus=2, actor=cast.alice)
    later = reserve(cast, cast.root, at(5), at(6), of=cast.a)
    sooner = reserve(cast, cast.root, at(1), at(6), of=cast.a, extra_max_gpus=2)
    now = reserve(cast, cast.root, None, at(6), of=cast.a)
    assert [one["is_in_effect"] for one in (later, sooner, now)] == [False, False, True]
    bob = cast.client(cast.bob)
    listed = bob.get(_path(cast.a)).json()
    assert [one["id"] for one in listed] == [one["id"] for one in (now, sooner, later)]
    assert [one["is_in_effect"] for one in listed] == [True, False, False]
    row = bob.get(f"/api/v1/organisations/{cast.a.pk}/quota-tree").json()["owners"][0]
    assert [one["id"] for one in row["boosts"]] == [now["id"]]
    assert [one["id"] for one in row["boosts_to_come"]] == [sooner["id"], later["id"]]
    assert row["guaranteed"] == 3
    assert bob.get(f"/api/v1/organisations/{cast.a.pk}/quota").json()["boosted_gpus"] == 0
    assert gpu_limits_above(Project.objects.get(pk=cast.project_a.pk))[-1][1] == 4
    then = extras_now({cast.a.pk}, now=timezone.now() + 2 * HOUR)[cast.a.pk]
    assert (then.guarantee, then.max_gpus) == (2, 2)


@pytest.mark.parametrize(
    ("starts", "ends", "field", "remedy"),
    [
        (-1, 2, "starts_at", "Give a time in the future, at most 366 days from now; leave it out to begin now."),
        (24 * 367, 24 * 367 + 1, "starts_at", "at most 366 days from now"),
        (24 * 365, 24 * 367, "ends_at", "at most 366 days from now"),
        (3, 2, "starts_at", "Give a beginning before the end."),
        (2, -1, "ends_at", "Give a time in the future"),
    ],
)
def test_a_time_that_cannot_be_names_the_field_and_the_remedy(
    cast: Cast, starts: float, ends: float, field: str, remedy: str
) -> None:
    refused = reserve(cast, cast.root, at(starts), at(ends), of=cast.a, status=422)
    assert [one["field"] for one in refused["errors"]] == [field]
    assert remedy in refused["errors"][0]["remedy"]
    asked = ask(cast, cast.bob, extra_guarantee=1, starts_at=at(starts), ends_at=at(ends), status=422)
    assert [one["field"] for one in asked["errors"]] == [field]
    assert not QuotaBoost.objects.exists()


@pytest.mark.parametrize("wrong", ["soon", 5, [], {}, "2026-13-01T00:00:00Z"])
def test_a_beginning_that_is_no_time_is_refused(cast: Cast, wrong: Any) -> None:
    refused = reserve(cast, cast.root, wrong, at(2), of=cast.a, status=422)
    assert [one["field"] for one in refused["errors"]] == ["starts_at"]


def test_a_beginning_and_an_end_at_one_moment_are_refused_and_one_just_over_is_now(cast: Cast) -> None:
    moment = at(2)
    assert reserve(cast, cast.root, moment, moment, of=cast.a, status=422)["errors"][0]["field"] == "starts_at"
    before = timezone.now()
    made = reserve(cast, cast.root, at(-0.01), at(2), of=cast.a)
    assert made["is_in_effect"]
    assert datetime.fromisoformat(made["starts_at"]) >= before
    assert kinds() == ["boosted"]


def test_others_neither_make_see_nor_cancel_it(cast: Cast) -> None:
    made = reserve(cast, cast.root, at(1), at(2), of=cast.a)
    of_project = {"starts": at(1), "ends": at(2), "of": cast.project_a}
    for person, status in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404)):
        reserve(cast, person, status=status, **of_project)
    reserve(cast, cast.alice, at(1), at(2), of=cast.a, status=403)
    charlie, end = cast.client(cast.charlie), f"/api/v1/quota-boosts/{made['id']}/end"
    assert charlie.get(_path(cast.a)).status_code == 404
    assert charlie.post(end).status_code == 404
    assert cast.client(cast.alice).post(end).status_code == 403
    tree = charlie.get(f"/api/v1/organisations/{cast.b.pk}/quota-tree").json()
    assert [row["boosts_to_come"] for row in tree["owners"]] == [[] for _ in tree["owners"]]
    assert made["id"] not in str(tree)
    assert cast.client(cast.bob).get(_path(cast.a)).json()[0]["id"] == made["id"]


def test_it_is_cancelled_before_its_beginning_once(cast: Cast) -> None:
    made = reserve(cast, cast.root, at(1), at(2), of=cast.a)
    end, root = f"/api/v1/quota-boosts/{made['id']}/end", cast.client(cast.root)
    assert root.post(end).status_code == 204
    assert root.post(end).json()["code"] == "boost_ended"
    assert root.get(_path(cast.a)).json() == []
    QuotaBoost.objects.update(starts_at=timezone.now() - HOUR)
    assert watch_boosts() == 0
    assert kinds() == ["boosted", "boost_cancelled"]
    event = Event.objects.get(kind="quota.boost_cancelled")
    assert (event.actor, event.facts["boost"]) == (cast.root, made["id"])
    assert event.facts["starts_at"][:19] == made["starts_at"][:19]


def test_its_beginning_and_its_end_are_recorded_once_each_and_in_order(cast: Cast) -> None:
    made = reserve(cast, cast.root, at(1), at(2), of=cast.a)
    assert watch_boosts() == 0
    QuotaBoost.objects.update(starts_at=timezone.now())
    row = cast.client(cast.bob).get(_path(cast.a)).json()[0]
    assert row["is_in_effect"]  # also before it is recorded
    assert [watch_boosts(), watch_boosts()] == [1, 0]
    found = QuotaBoost.objects.get()
    assert found.began_at == found.starts_at
    QuotaBoost.objects.update(ends_at=timezone.now())
    assert [watch_boosts(), watch_boosts()] == [1, 0]
    assert kinds() == ["boosted", "boost_began", "boost_ended"]
    began = Event.objects.get(kind="quota.boost_began")
    assert (began.actor, began.facts["boost"]) == (None, made["id"])


def test_after_an_outage_longer_than_the_boost_both_are_recorded(cast: Cast) -> None:
    reserve(cast, cast.root, at(1), at(2), of=cast.a)
    over = timezone.now() - HOUR
    QuotaBoost.objects.update(starts_at=over - HOUR, ends_at=over)
    assert watch_boosts() == 2
    assert kinds() == ["boosted", "boost_began", "boost_ended"]


def test_one_that_is_ended_by_hand_after_its_beginning_has_begun_in_the_audit(cast: Cast) -> None:
    made = reserve(cast, cast.root, at(1), at(2), of=cast.a)
    QuotaBoost.objects.update(starts_at=timezone.now())
    assert cast.client(cast.root).post(f"/api/v1/quota-boosts/{made['id']}/end").status_code == 204
    assert kinds() == ["boosted", "boost_began", "boost_ended"]
    assert watch_boosts() == 0


def test_those_to_come_count_for_the_most_that_an_owner_may_have(cast: Cast) -> None:
    made = [reserve(cast, cast.root, at(n + 1), at(n + 2), of=cast.a) for n in range(8)]
    refused = reserve(cast, cast.root, at(20), at(21), of=cast.a, status=409)
    assert refused["code"] == "too_many_boosts"
    assert cast.client(cast.root).post(f"/api/v1/quota-boosts/{made[0]['id']}/end").status_code == 204
    reserve(cast, cast.root, at(20), at(21), of=cast.a)


def test_what_is_reserved_has_to_fit_at_every_moment(cast: Cast) -> None:
    set_quota(cast.a, guarantee=2, actor=cast.root)
    reserve(cast, cast.alice, at(1), at(3), of=cast.project_a, extra_guarantee=2)
    refused = reserve(cast, cast.alice, at(2), at(4), of=cast.project_a, extra_guarantee=1, status=422)
    assert refused["errors"][0]["field"] == "extra_guarantee"
    assert "would be guaranteed 3 GPUs from" in refused["detail"]
    assert "when a boost begins" in refused["detail"]
    reserve(cast, cast.alice, at(3), at(5), of=cast.project_a, extra_guarantee=2)
    lowered = cast.client(cast.root).patch(f"/api/v1/organisations/{cast.a.pk}/quota", {"guarantee": 1}, format="json")
    assert lowered.status_code == 422


def test_gpus_of_a_type_are_reserved_for_one_organisation_at_a_time(cast: Cast) -> None:
    rack = Rack.objects.create(name="rack", uplink_bps=1e10)
    of_node = {"cpus": 8, "memory_bytes": 2**30, "nic_bps": 1e9, "observed_at": timezone.now()}
    Node.objects.create(name="n", rack=rack, gpu_type="A100", n_slots=4, **of_node)
    three = {"extra_guarantee": 0, "extra_guarantee_by_type": {"A100": 3}}
    begins, ends = at(1), at(3)
    reserve(cast, cast.root, begins, ends, of=cast.a, **three)
    refused = reserve(cast, cast.root, at(2), at(4), of=cast.b, status=422, **three)
    assert refused["errors"][0]["field"] == "extra_guarantee_by_type"
    assert "UTC on other organisations are guaranteed 3 of the 4 GPUs of type A100" in refused["detail"]
    reserve(cast, cast.root, ends, at(4), of=cast.b, **three)
    reserve(cast, cast.root, None, begins, of=cast.b, **three)


def test_a_reservation_that_the_cluster_cannot_honour_is_answered_with_that(cast: Cast) -> None:
    rack = Rack.objects.create(name="rack", uplink_bps=1e10)
    of_node = {"cpus": 8, "memory_bytes": 2**30, "nic_bps": 1e9, "observed_at": timezone.now()}
    Node.objects.create(name="n", rack=rack, gpu_type="A100", n_slots=4, **of_node)
    reserve(cast, cast.root, at(1), at(3), of=cast.b, extra_guarantee=3)
    made = reserve(cast, cast.root, at(2), at(4), of=cast.a, extra_guarantee=3)
    assert [(one["guaranteed"], one["gpus"]) for one in made["overcommitted"]] == [(6, 4)]
    assert reserve(cast, cast.root, at(3), at(4), of=cast.b, extra_guarantee=1)["overcommitted"] == []


def test_an_approved_request_begins_when_it_asked_or_with_a_later_approval(cast: Cast) -> None:
    set_quota(cast.a, guarantee=4, actor=cast.root)
    first, second = (ask(cast, cast.bob, extra_guarantee=1, starts_at=at(1), ends_at=at(3)) for _ in range(2))
    answer(cast, cast.alice, first, "approve")
    made = QuotaBoost.objects.get()
    assert (made.starts_at, made.began_at) == (datetime.fromisoformat(first["starts_at"]), None)
    cast.a.quota_requests.filter(pk=second["id"]).update(starts_at=timezone.now() - HOUR)
    answer(cast, cast.alice, second, "approve")
    late = QuotaBoost.objects.exclude(pk=made.pk).get()
    assert late.began_at == late.starts_at > timezone.now() - HOUR / 60
    for_good = ask(cast, cast.bob, extra_guarantee=1, starts_at=at(1), status=422)
    assert for_good["errors"][0]["field"] == "starts_at"
    assert "Give ends_at, too" in for_good["errors"][0]["remedy"]


@pytest.mark.slow
def test_who_borrows_is_predicted_against_and_reclaimed_only_once_the_reservation_begins(cast: Cast) -> None:
    world = World(cast)
    world.round()
    long = {"min_workers": 4, "max_workers": 4, "steps_total": 10**8}
    borrows = job(cast.project_b, cast.charlie, name="borrows", **long)
    Job.objects.filter(pk=borrows.pk).update(submitted_at=world.now)
    world.rounds(2)
    assert state(borrows) == "running"
    begins = world.now + timedelta(minutes=10)
    of_a = {"organisation": cast.a, "extra_guarantee": 4, "starts_at": begins, "began_at": None}
    QuotaBoost.objects.create(**of_a, ends_at=begins + HOUR, created_by=cast.root)
    waits = world.job(name="waits", **long)
    world.round()
    assert (state(borrows), state(waits)) == ("running", "queued")
    waits.refresh_from_db()
    assert waits.predicted_start_at is not None
    assert abs(waits.predicted_start_at - begins) < timedelta(minutes=2)
    world.round(after_s=590.0)
    assert (state(borrows), state(waits)) == ("running", "queued")
    world.round(after_s=20.0)
    assert (state(borrows), state(waits)) == ("stopping", "queued")
