# SPDX-License-Identifier: Apache-2.0
"""Rate limits: each subject has its own budget, what is over it is answered 429, and Valkey away stops nothing."""

from __future__ import annotations

import random
import uuid

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from mlhub.core.problems import CONTENT_TYPE
from mlhub.core.rate_limits.buckets import Charge, LocalBuckets
from mlhub.core.rate_limits.limiter import SCRIPT, RateLimiter
from mlhub.core.rate_limits.limits import DEFAULTS, RateLimit, read_rate_limits
from mlhub.core.rate_limits.refusals import Refusals
from mlhub.core.rate_limits.requests import network_of
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership
from tests.jobs.builders import builtin, job, ready_dataset

HOUR = 3600  # a window in which nothing comes back while a test runs
ADDRESS = "203.0.113.7"


@pytest.fixture
def limits(settings, cast):
    """Sets limits by budget, and gives the requests of this test an address of their own."""

    def set_to(**texts):
        settings.RATE_LIMITS = read_rate_limits(texts)

    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(*client.keys("mlhub:rate:unauthenticated-address:*") or ["none"])
    client.close()
    return set_to


def charge(quota, *, subject=None, window_s=HOUR, alternative="", weight=1):
    limit = RateLimit("reads", "user", quota, window_s)
    return Charge(limit, subject or str(uuid.uuid4()), alternative, weight)


def read(client):
    return client.get("/api/v1/auth/me")


def test_the_request_over_the_limit_is_a_problem_that_says_how_long_to_wait(limits, cast):
    limits(reads=f"user=3/{HOUR}")
    bob = cast.client(cast.bob)
    assert [read(bob).status_code for _ in range(3)] == [200] * 3
    answer = read(bob)
    body = answer.json()
    assert (answer.status_code, answer["Content-Type"], body["code"]) == (429, CONTENT_TYPE, "rate_limited")
    assert (body["limit"], body["quota"], body["window_s"]) == ("reads-user", 3, HOUR)
    assert 1190 <= int(answer["Retry-After"]) <= HOUR / 3 == 1200
    assert body["retry_after_s"] == int(answer["Retry-After"])
    assert body["request_id"]


def test_answers_say_what_is_left(limits, cast):
    limits(reads=f"user=3/{HOUR},organisation=10/{HOUR}")
    answer = read(cast.client(cast.bob))
    assert answer["RateLimit-Policy"] == f'"reads-user";q=3;w={HOUR}, "reads-organisation";q=10;w={HOUR}'
    assert answer["RateLimit"] == '"reads-user";r=2;t=1200, "reads-organisation";r=9;t=360'


def test_one_user_s_requests_leave_another_s_alone(limits, cast):
    limits(reads=f"user=1/{HOUR}")
    bob, alice, charlie = (cast.client(user) for user in (cast.bob, cast.alice, cast.charlie))
    assert [read(bob).status_code, read(bob).status_code] == [200, 429]
    assert [read(alice).status_code, read(charlie).status_code] == [200, 200]


def test_an_organisation_s_members_share_its_budget_and_no_other_s(limits, cast):
    limits(reads=f"organisation=2/{HOUR}")
    bob, alice, charlie = (cast.client(user) for user in (cast.bob, cast.alice, cast.charlie))
    assert [read(c).status_code for c in (bob, alice, bob, alice, charlie)] == [200, 200, 429, 429, 200]


def test_a_busy_organisation_keeps_no_member_from_working_for_another(limits, cast):
    Membership.objects.create(user=cast.bob, organisation=cast.b, role="member")
    limits(reads=f"organisation=2/{HOUR}")
    alice, bob = cast.client(cast.alice), cast.client(cast.bob)
    assert [read(alice).status_code for _ in range(3)] == [200, 200, 429]
    assert [read(bob).status_code for _ in range(3)] == [200, 200, 429]


def test_each_token_of_a_user_has_a_budget_of_its_own(limits, cast):
    limits(reads=f"token=1/{HOUR}")

    def bearer():
        _, secret = create_token(cast.bob, name="ci", scopes=["read"], expires_in_days=1)
        return APIClient(HTTP_AUTHORIZATION=f"Bearer {secret}")

    first, second = bearer(), bearer()
    assert [read(c).status_code for c in (first, first, second)] == [200, 429, 200]


def test_reads_writes_submissions_and_uploads_are_counted_apart(limits, cast):
    limits(**dict.fromkeys(("reads", "writes", "submissions", "uploads"), f"user=1/{HOUR}"))
    bob = cast.client(cast.bob)
    asked = {"dataset": str(ready_dataset(cast.project_a, cast.bob).dataset_id), "model": str(builtin().model_id)}
    submit = lambda: bob.post("/api/v1/jobs", {**asked, "epochs": 1, "batch_size": 4}).status_code  # noqa: E731
    upload = lambda: bob.post("/api/v1/datasets", {}, format="multipart").status_code  # noqa: E731
    token = lambda: bob.post("/api/v1/tokens", {"name": "t", "scopes": ["read"]}).status_code  # noqa: E731
    assert [submit(), upload(), token(), read(bob).status_code] == [201, 422, 201, 200]
    assert [submit(), upload(), token(), read(bob).status_code] == [429] * 4


def test_who_is_refused_for_the_organisation_is_not_charged_elsewhere(limits, cast):
    limits(reads=f"user=2/{HOUR},organisation=1/{HOUR}")
    bob = cast.client(cast.bob)
    first, second = read(bob), read(bob)
    assert [first.status_code, second.status_code] == [200, 429]
    assert '"reads-user";r=1' in second["RateLimit"]


def test_who_comes_back_too_soon_is_refused_without_a_query_and_by_no_longer_wait(limits, cast):
    limits(reads=f"user=1/{HOUR}")
    bob = cast.client(cast.bob)
    waits = [int(read(bob).get("Retry-After", 0)) for _ in range(2)]
    with CaptureQueriesContext(connection) as queries:
        waits += [int(read(bob)["Retry-After"]) for _ in range(3)]
    assert len(queries) == 0
    assert waits[0] == 0
    assert waits[1:] == sorted(waits[1:], reverse=True)
    assert cast.client(cast.bob).get("/api/v1/projects").status_code == 429  # another route: the limiter itself refuses


def test_a_refusal_is_forgotten_when_its_time_has_passed(rf):
    now = [0.0]
    refusals = Refusals(clock=lambda: now[0])
    mine, other = (rf.get("/api/v1/jobs", headers={"Authorization": f"Bearer {name}"}) for name in "ab")
    refusals.remember(mine, retry_after_s=3)
    refusals.remember(rf.get("/api/v1/jobs"), retry_after_s=3)
    now[0] = 1.5
    assert refusals.error_for(mine).facts["retry_after_s"] == 2
    assert refusals.error_for(other) is None
    assert refusals.error_for(rf.get("/api/v1/jobs")) is None
    now[0] = 3.0
    assert refusals.error_for(mine) is None


def test_wrong_credentials_are_counted_by_address_and_never_shut_out_right_ones(limits, cast):
    limits(unauthenticated=f"address=2/{HOUR}", reads=f"user=9/{HOUR}")
    guess = APIClient(HTTP_AUTHORIZATION="Bearer mlh_guess", REMOTE_ADDR=ADDRESS)
    _, secret = create_token(cast.bob, name="ci", scopes=["read"], expires_in_days=1)
    right = APIClient(HTTP_AUTHORIZATION=f"Bearer {secret}", REMOTE_ADDR=ADDRESS)
    assert [read(guess).status_code for _ in range(4)] == [401, 401, 429, 429]
    assert read(right).status_code == 200
    elsewhere = APIClient(HTTP_AUTHORIZATION="Bearer mlh_guess", REMOTE_ADDR="198.51.100.2")
    assert read(elsewhere).status_code == 401


def test_requests_without_credentials_are_counted_by_address(limits, cast):
    limits(unauthenticated=f"address=2/{HOUR}")
    anyone = APIClient(REMOTE_ADDR=ADDRESS)
    assert [anyone.get("/api/v1/auth/csrf").status_code for _ in range(3)] == [204, 204, 429]
    assert anyone.get("/healthz").status_code == 200


def test_pods_share_a_budget_that_grows_with_their_number(limits, cast):
    from tests.metrics.test_ingest import opened, post

    limits(reports=f"pod=2/{HOUR}")
    attempt = opened(job(cast.project_a, cast.bob))  # of two workers
    answers = [post(attempt, i, "line", stream="log") for i in range(5)]
    assert [a.status_code for a in answers] == [200, 200, 200, 200, 429]
    assert answers[-1].json()["limit"] == "reports-pod"


def test_without_valkey_each_process_goes_on_counting_alone(limits, cast, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    limits(reads=f"user=2/{HOUR}")
    bob = cast.client(cast.bob)
    assert [read(bob).status_code for _ in range(3)] == [200, 200, 429]


def test_two_processes_share_the_counters(limits, settings):
    limits()
    one, other = RateLimiter(settings.REDIS_URL), RateLimiter(settings.REDIS_URL)
    shared = [charge(3)]
    outcomes = [limiter.charge(shared).refused is None for limiter in (one, other, one, other)]
    assert outcomes == [True, True, True, False]


def test_valkey_and_the_local_buckets_count_alike(limits, settings):
    """The same charges in both: random quotas, weights, alternatives and costs."""
    limits()
    rng = random.Random(7)
    client = redis.Redis.from_url(settings.REDIS_URL)
    script, local = client.register_script(SCRIPT), LocalBuckets(clock_us=lambda: 0)
    # no two of them are ever used up to the same share, which the running clock of Valkey would decide otherwise
    made = [charge(quota, window_s=100 * HOUR, weight=weight) for quota, weight in ((3, 1), (7, 1), (11, 2), (13, 1))]
    for _ in range(40):
        picked = rng.sample(made, rng.choice([1, 2, 3]))
        if rng.random() < 0.5:
            picked = [Charge(c.limit, c.subject_id, "either", c.weight) for c in picked]
        cost = rng.choice([0, 1, 1, 2])
        arguments = [cost]
        for one in picked:
            arguments += [one.interval_us, one.limit.window_us, one.group]
        rows = script(keys=[one.key for one in picked], args=arguments)
        for row, outcome in zip(rows, local.charge(picked, cost=cost), strict=True):
            assert row[2] == outcome.is_chosen
            # Valkey's clock runs: some milliseconds of budget come back between two charges
            assert row[0] == pytest.approx(outcome.ahead_us, abs=60e6)
            assert (row[1] > 0) == (outcome.wait_us > 0)
    client.close()


def test_budget_comes_back_evenly_and_never_beyond_the_quota():
    now = [0]
    buckets, one = LocalBuckets(clock_us=lambda: now[0]), [charge(4, window_s=40)]
    admitted = lambda: not buckets.charge(one, cost=1)[0].wait_us  # noqa: E731
    assert [admitted() for _ in range(5)] == [True] * 4 + [False]
    now[0] += 10_000_000
    assert [admitted(), admitted()] == [True, False]
    now[0] += 10**12
    assert [admitted() for _ in range(5)] == [True] * 4 + [False]


@pytest.mark.parametrize("text", ["user=0/60", "user=5", "stranger=5/60", "user=5/60 token=5/60", "user=-1/60"])
def test_a_limit_that_cannot_be_read_names_its_setting(text):
    with pytest.raises(ValueError, match="MLHUB_RATE_LIMITS_READS"):
        read_rate_limits({"reads": text})


def test_the_defaults_can_be_read_and_an_empty_setting_lifts_a_limit():
    assert {budget: len(found) for budget, found in read_rate_limits(DEFAULTS).items()}["reads"] == 3
    assert read_rate_limits({"reads": ""}) == {"reads": ()}


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", "unknown"),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address, network):
    assert network_of(address) == network


@pytest.mark.parametrize("path", ["/api/v1/stream", "/api/v1/jobs/{job}/stream"])
def test_opening_a_live_stream_is_a_read(transactional_db, limits, cast, path):
    limits(reads=f"user=1/{HOUR}")
    bob, address = cast.client(cast.bob), path.format(job=job(cast.project_a, cast.bob).id)
    assert read(bob).status_code == 200
    refused = bob.get(address)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
