# SPDX-License-Identifier: Apache-2.0
"""Blobs, named by their content; holdings: who keeps which blob for what; uploads under way; the sandbox's queue."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.storage.querysets import (
    BlobQuerySet,
    CompletedUploadQuerySet,
    HoldingQuerySet,
    ResumableUploadQuerySet,
    SandboxRunQuerySet,
    UploadPartQuerySet,
    WorkItemQuerySet,
)
from mlhub.tenants.models import Organisation, Project, User


class Blob(models.Model):
    """Immutable bytes; the primary key is their SHA-256 in hex."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size_bytes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = BlobQuerySet.as_manager()


class Holding(models.Model):
    """An organisation keeps a blob for its owner (a dataset version, model version ...). They add up to storage used.

    Two holdings of one blob by one organisation count once; two organisations are charged each. project: whose quota,
    with those of the teams above, it counts against; None = of the organisation alone. user: whose limit of storage;
    None = of no single person.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="holdings", db_index=False)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="holdings")
    owner_kind = models.CharField(max_length=30)  # dataset_version | model_version | artifact
    owner_id = models.UUIDField()
    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, related_name="+")
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = HoldingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner_kind", "owner_id", "blob"], name="one_holding_per_owner_and_blob")
        ]
        indexes = [models.Index(fields=["organisation", "blob"])]


class ResumableUpload(models.Model):
    """A file that arrives in several requests: see resumable.py. Its length counts as used storage from the beginning.

    offset_bytes: how much of it is safely stored. metadata: the header Upload-Metadata as it was sent. part_ids: of an
    upload that is the concatenation of others, theirs; their lengths count, not its own. n_parts: of a multipart upload
    (multipart.py), how many parts it is to have; its length is that of the parts so far.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    filename = models.CharField(max_length=255)
    metadata = models.TextField(blank=True)
    length_bytes = models.PositiveBigIntegerField()
    offset_bytes = models.PositiveBigIntegerField(default=0)
    is_partial = models.BooleanField(default=False)
    part_ids = models.JSONField(default=list)
    n_parts = models.PositiveSmallIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    written_at = models.DateTimeField(auto_now_add=True)  # when bytes arrived last; it expires by this

    objects = ResumableUploadQuerySet.as_manager()

    class Meta:
        verbose_name = "upload"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(offset_bytes__lte=models.F("length_bytes")), name="upload_within_its_length"
            )
        ]
        indexes = [models.Index(fields=["written_at"], name="uploads_by_age")]

    @property
    def is_whole(self) -> bool:
        return self.offset_bytes == self.length_bytes


class UploadPart(models.Model):
    """A part of a multipart upload, in the spool under its own id: parts arrive at the same time, in any order."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    upload = models.ForeignKey(ResumableUpload, on_delete=models.CASCADE, related_name="parts", db_index=False)
    number = models.PositiveSmallIntegerField()  # from 1
    size_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)

    objects = UploadPartQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="one_part_of_each_number")]


class CompletedUpload(models.Model):
    """That a multipart upload was completed, and with which parts: its answer may have been lost, and is given again.

    id: the upload's, whose own row is gone. parts_sha256: of the ETags of its parts in their order.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    place = models.TextField()
    parts_sha256 = models.CharField(max_length=64)
    completed_at = models.DateTimeField(auto_now_add=True)

    objects = CompletedUploadQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["completed_at"], name="completed_uploads_by_age")]


class WorkItem(models.Model):
    """Work in the sandbox that waits, is under way or has ended: see work_queue.py. Ended items stay for an hour."""

    id = models.BigAutoField(primary_key=True)
    task = models.CharField(max_length=100)  # the full name of the Celery task that does it
    subject_id = models.UUIDField()  # of the dataset version, model version or job; what the task is called with
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    is_bulk = models.BooleanField(default=False)
    is_outgoing = models.BooleanField(default=False, db_default=False)  # calls other sites, maybe with secrets
    request_id = models.CharField(max_length=64, blank=True)  # of the request that asked for it, for the logs
    queued_at = models.DateTimeField(auto_now_add=True)
    not_before = models.DateTimeField(null=True)  # after a failure of the platform
    problem = models.TextField(blank=True, default="", db_default="")  # that failure, in words
    n_failures = models.PositiveSmallIntegerField(default=0, db_default=0)  # of the platform, so far
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = WorkItemQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "subject_id"], condition=models.Q(ended_at=None), name="one_open_work_item"
            )
        ]
        indexes = [
            models.Index(fields=["organisation", "user"], condition=models.Q(ended_at=None), name="open_work_items"),
            models.Index(fields=["subject_id"]),
        ]


class SandboxRun(models.Model):
    """One run in the sandbox that a Job of the cluster makes for a worker, which waits for it: see sandbox_runs.py.

    outcome: how the run ended (mlhub/wire/sandbox.py); failure: why the cluster could not make it. Either ends it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    task = models.JSONField()
    requested_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)  # when its Job was made
    outcome = models.JSONField(null=True)
    failure = models.TextField(blank=True)
    ended_at = models.DateTimeField(null=True)

    objects = SandboxRunQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["requested_at"], condition=models.Q(ended_at=None), name="open_sandbox_runs")]
