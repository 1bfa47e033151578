# SPDX-License-Identifier: Apache-2.0
"""Holding, releasing and collecting: what somebody holds stays, what no one holds goes after a day."""

from __future__ import annotations

import io
import os
import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from mlhub.core.errors import ConflictError, QuotaExceededError
from mlhub.registry.models import Model, ModelVersion
from mlhub.storage import actions, tasks
from mlhub.storage.models import Blob, Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.actions import set_quota
from mlhub.tenants.models import Organisation, Quota


def keep(organisation, content=b"0123456789", owner=None) -> Blob:
    with blob_store().stage(limit_bytes=10**6) as staging:
        staging.write(content)
        return actions.keep(staging, place=organisation, owner_kind="test", owner_id=owner or uuid4())


def grow_old(*blobs: Blob) -> None:
    """As if they had been brought two days ago."""
    for blob in blobs:
        Blob.objects.filter(pk=blob.pk).update(created_at=timezone.now() - timedelta(days=2))
        os.utime(blob_store().path(blob.sha256), (0, 0))


def test_a_blob_that_an_organisation_has_already_costs_it_nothing_more(cast):
    set_quota(cast.a, max_storage_bytes=15, actor=None)
    keep(cast.a)
    keep(cast.a)
    assert actions.used_bytes(cast.a) == 10
    with pytest.raises(QuotaExceededError):
        keep(cast.a, b"abcdefghij")
    assert Blob.objects.count() == 1


def test_a_quota_is_full_to_the_last_byte(cast):
    set_quota(cast.a, max_storage_bytes=10, actor=None)
    keep(cast.a)
    with pytest.raises(QuotaExceededError) as refused:
        keep(cast.a, b"x")
    assert refused.value.facts == {
        "limit": "max_storage_bytes",
        "limit_bytes": 10,
        "used_bytes": 10,
        "asked_bytes": 1,
    }


@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_once_do_not_pass_the_quota_together():
    organisation = Organisation.objects.create(name="A")
    Quota.objects.create(organisation=organisation, max_storage_bytes=10)
    outcomes = []
    both = threading.Barrier(2, timeout=600)

    def upload(content):
        both.wait()
        try:
            keep(organisation, content)
            outcomes.append("kept")
        except QuotaExceededError:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=upload, args=(content,)) for content in (b"aaaaaaaa", b"bbbbbbbb")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["kept", "refused"]
    assert actions.used_bytes(organisation) == 8


def test_holding_what_is_stored_needs_no_upload_and_holding_again_changes_nothing(cast):
    blob, owner = keep(cast.a), uuid4()
    for _ in range(2):
        actions.hold(cast.b, sha256=blob.sha256, size_bytes=10, owner_kind="test", owner_id=owner)
    assert Holding.objects.filter(owner_id=owner).count() == 1
    with pytest.raises(ConflictError) as refused:
        actions.hold(cast.b, sha256="0" * 64, size_bytes=10, owner_kind="test", owner_id=uuid4())
    assert refused.value.code == "no_such_blob"


def test_what_the_platform_must_not_lose_is_held_over_the_quota(cast):
    blob = keep(cast.a)
    set_quota(cast.b, max_storage_bytes=1, actor=None)
    with pytest.raises(QuotaExceededError):
        actions.hold(cast.b, sha256=blob.sha256, size_bytes=10, owner_kind="test", owner_id=uuid4())
    actions.hold(cast.b, sha256=blob.sha256, size_bytes=10, owner_kind="test", owner_id=uuid4(), within_quota=False)
    assert actions.used_bytes(cast.b) == 10


def test_what_no_one_holds_is_collected_after_a_day(cast):
    owner = uuid4()
    held, let_go, young = keep(cast.a, b"held"), keep(cast.a, b"let go", owner), keep(cast.a, b"young", owner)
    grow_old(held, let_go)
    assert actions.release(owner_kind="test", owner_id=owner) == 2
    assert tasks.collect_unheld_blobs() == 1
    assert [blob_store().exists(b.sha256) for b in (held, let_go, young)] == [True, False, True]
    assert set(Blob.objects.values_list("sha256", flat=True)) == {held.sha256, young.sha256}


def test_bytes_whose_row_was_never_committed_are_collected_too(cast):
    stray = blob_store().write(io.BytesIO(b"stray"), limit_bytes=100)
    os.utime(blob_store().path(stray.sha256), (0, 0))
    assert tasks.collect_unheld_blobs() == 1
    assert not blob_store().exists(stray.sha256)


def test_what_is_brought_again_before_it_is_collected_stays(cast):
    owner = uuid4()
    blob = keep(cast.a, owner=owner)
    grow_old(blob)
    actions.release(owner_kind="test", owner_id=owner)
    found = actions.collectable()
    keep(cast.a)
    assert [actions.collect(sha256) for sha256 in found] == [False]
    assert blob_store().exists(blob.sha256)


def test_a_blob_that_a_row_still_names_is_not_collected(cast):
    owner = uuid4()
    blob = keep(cast.a, owner=owner)
    model = Model.objects.create(project=cast.project_a, name="m")
    ModelVersion.objects.create(model=model, number=1, source="training", kind="package", entry="m", weights=blob)
    actions.release(owner_kind="test", owner_id=owner)
    grow_old(blob)
    assert tasks.collect_unheld_blobs() == 0
    assert blob_store().exists(blob.sha256)
