# SPDX-License-Identifier: Apache-2.0
"""The installation itself: which life of the database this is, and since when."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id


class Installation(models.Model):
    """One row. epoch: rises with every restore, so that what an earlier life gave out is never given out again.

    restored_at, backup_at: when this database was restored, and the moment that it shows; None = it never was.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    uuid = models.UUIDField(default=new_id, editable=False)
    epoch = models.PositiveIntegerField(default=1)
    restored_at = models.DateTimeField(null=True)
    backup_at = models.DateTimeField(null=True)
