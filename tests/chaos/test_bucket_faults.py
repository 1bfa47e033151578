# SPDX-License-Identifier: Apache-2.0
"""A bucket that fails while something is uploaded to it: the version is there whole, or the answer names the remedy and
the same request succeeds later; nothing is left in the bucket."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from django.conf import settings as platform

from mlhub.datasets.models import Dataset
from mlhub.storage.models import Blob, Holding, ResumableUpload
from mlhub.storage.stores import blob_store
from tests.cast import Cast, make_cast
from tests.chaos.bucket_contents import (
    collect_after_days,
    content_of,
    in_bucket,
    large_content_of,
    send,
    uploaded,
    use,
)
from tests.chaos.invariants import check_everything
from tests.storage.bucket_server import Asked, BucketServer, Fault
from tests.storage.conftest import bucket  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]
FOREVER = 10**6


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for nothing between its tries."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)


@pytest.mark.parametrize("verb", ["put", "begin", "part", "complete", "head", "delete"])
@pytest.mark.parametrize("fault", [Fault.SLOW_DOWN, Fault.LOST])
def test_an_upload_of_one_request_to_a_bucket_that_fails_is_whole_or_not_there(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    patient: None,
    fault: Fault,
    verb: str,
) -> None:
    content = large_content_of("d")
    bucket.fault = lambda asked: fault if asked.verb == verb else Fault.NONE
    answer = send(cast, "d", content)
    if answer.status_code != 201:
        assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.content
        assert "Try again" in answer.json()["remedy"]
        assert not Dataset.objects.exists()
        bucket.fault = lambda _: Fault.NONE
        assert send(cast, "d", content).status_code == 201
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    assert blob_store().verify(Holding.objects.get().blob_id)
    check_everything()


VERBS = ["list", "get", "begin", "part", "complete", "head", "delete"]
FAULTS = [
    *product([Fault.SLOW_DOWN, Fault.CUT, Fault.LOST], VERBS),
    *product([Fault.IN_200], ["part", "complete"]),  # S3 answers so where it copies and joins
]


@pytest.mark.parametrize(("fault", "verb"), FAULTS)
def test_a_bucket_that_fails_at_one_request_costs_nothing_or_is_named_with_the_remedy(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    patient: None,
    fault: Fault,
    verb: str,
) -> None:
    """First once, then for as long as the request takes; then it has recovered."""
    for n_faults in (1, FOREVER):
        name = f"d{n_faults}"
        upload = uploaded(cast, content_of(name))
        left = [n_faults]

        def failing(asked: Asked, left: list[int] = left) -> Fault:
            if asked.verb != verb or left[0] <= 0:
                return Fault.NONE
            left[0] -= 1
            return fault

        bucket.fault = failing
        answer = use(cast, name, upload)
        assert left[0] < n_faults, "no such request was made"
        if n_faults == 1:
            assert answer.status_code == 201, answer.content
        elif answer.status_code != 201:
            assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.content
            assert "Try again" in answer.json()["remedy"]
            assert int(answer.headers["Retry-After"]) > 0
            assert not Dataset.objects.filter(name=name).exists()
            bucket.fault = lambda _: Fault.NONE
            answer = use(cast, name, upload)
            assert answer.status_code == 201, answer.content
        assert Dataset.objects.filter(name=name).exists()
        assert not ResumableUpload.objects.exists()
    collect_after_days(bucket)
    assert in_bucket(bucket) == (2, 0, 0)
    assert all(blob_store().verify(sha256) for sha256 in Blob.objects.values_list("pk", flat=True))
    check_everything()


@pytest.mark.parametrize("verb", ["get", "begin", "part", "complete"])
def test_a_bucket_that_does_not_answer_is_given_up_after_a_time_and_named(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    patient: None,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
) -> None:
    upload = uploaded(cast, content_of("d"))
    bucket.fault = lambda asked: Fault.HELD if asked.verb == verb else Fault.NONE
    with monkeypatch.context() as impatient:
        impatient.setattr("mlhub.storage.bucket_joins.READ_TIMEOUT_S", 0.5)
        impatient.setattr("mlhub.storage.buckets.TIMEOUT", timedelta(seconds=2))
        impatient.setattr(platform, "STORE_ENDPOINT", f"{bucket.url}/")  # a client of its own
        answer = use(cast, "d", upload)
    bucket.released.set()
    assert (answer.status_code, answer.json()["code"]) == (503, "store_away"), answer.content
    assert "Try again" in answer.json()["remedy"]
    assert not Dataset.objects.exists()
    bucket.fault = lambda _: Fault.NONE
    assert use(cast, "d", upload).status_code == 201
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    check_everything()
