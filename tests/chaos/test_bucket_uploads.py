# SPDX-License-Identifier: Apache-2.0
"""Uploads to a bucket that meet each other or the collection: a version is whole, and nothing is left for ever."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from mlhub.storage import tasks
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import blob_store
from tests.cast import Cast, make_cast
from tests.chaos.bucket_contents import (
    collect_after_days,
    content_of,
    grow_old,
    in_bucket,
    uploaded,
    use,
)
from tests.chaos.invariants import check_everything
from tests.storage.bucket_server import Asked, BucketServer, Fault
from tests.storage.conftest import bucket  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


def both(*calls: Any) -> list[Any]:
    def call(one: Any) -> Any:
        try:
            return one()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call, one) for one in calls]]


def test_two_equal_uploads_that_are_completed_at_the_same_moment_are_one_blob_of_two_versions(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
) -> None:
    content = content_of("same")
    uploads = [uploaded(cast, content) for _ in range(2)]
    meet = threading.Barrier(2, timeout=120)

    def fault(asked: Asked) -> Fault:
        if asked.verb == "complete":
            meet.wait()
        return Fault.NONE

    bucket.fault = fault
    answers = both(*(lambda n=n: use(cast, f"d{n}", uploads[n]) for n in range(2)))
    assert [answer.status_code for answer in answers] == [201, 201], [answer.content for answer in answers]
    [blob] = Blob.objects.all()
    assert Holding.objects.filter(blob=blob).count() == 2
    assert blob_store().verify(blob.sha256)
    assert in_bucket(bucket) == (1, 0, 0)
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    check_everything()


@pytest.mark.parametrize("moment", ["delete", "head"])
def test_content_that_is_collected_while_it_is_uploaded_again_is_there_in_the_end(
    cast: Cast,
    bucket: BucketServer,  # noqa: F811
    moment: str,
) -> None:
    """moment: the collection's request that waits until the upload has stored its bytes."""
    content = content_of("again")
    with blob_store().stage(limit_bytes=10**8) as staging:
        staging.write(content)
        sha256 = blob_store().keep(staging).sha256
    upload = uploaded(cast, content)
    grow_old(bucket)
    is_stored, collects = threading.Event(), threading.Event()

    def fault(asked: Asked) -> Fault:
        if asked.verb == moment and sha256 in asked.path and not collects.is_set():
            collects.set()
            is_stored.wait(120)
        return Fault.NONE

    def done(asked: Asked) -> None:
        if asked.verb == "complete":
            is_stored.set()

    bucket.fault, bucket.done = fault, done

    def bring() -> Any:
        assert collects.wait(120)
        return use(cast, "d", upload)

    _, answer = both(tasks.collect_unheld_blobs, bring)
    assert answer.status_code == 201, answer.content
    assert blob_store().verify(sha256)
    assert Holding.objects.get().blob_id == sha256
    collect_after_days(bucket)
    assert in_bucket(bucket) == (1, 0, 0)
    check_everything()
