# SPDX-License-Identifier: Apache-2.0
"""What a restored database must change before the platform uses it, in one transaction.

Gangs of the time after the backup may still run, with numbers that this database would give out again. A new epoch
gives higher ones, and every attempt that was live is fenced: its pods are refused and stopped, its job waits in the
queue and resumes from its newest checkpoint.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F

from mlhub.core.installation import SERIAL_GAP, installation
from mlhub.core.models import Installation
from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.jobs.attempts import close_stopped
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics.models import StreamCursor
from mlhub.recovery.archive import BackupError

RESTORED = "restored"


def begin_epoch(epoch: int, *, backup_at: datetime, now: datetime) -> int:
    """Returns how many attempts were fenced. Raises BackupError for a database of a newer MLHub."""
    _require_known_migrations()
    with transaction.atomic():
        before = installation().epoch
        Installation.objects.filter(pk=1).update(epoch=epoch, restored_at=now, backup_at=backup_at)
        _move_serials_on()
        live = list(Attempt.objects.live().select_related("job"))
        for attempt in live:
            message = f"The platform was restored from a backup of {backup_at:%Y-%m-%d %H:%M} UTC."
            close_stopped(attempt, cause=None, message=message, now=now, reason=RESTORED)
        append(
            "platform.restored",
            organisation=None,
            subject_kind="platform",
            subject_id=None,
            at=now,
            epoch=epoch,
            epoch_before=before,
            backup_at=backup_at,
            attempts_fenced=len(live),
        )
    return len(live)


def _move_serials_on() -> None:
    """Browsers and pods may know later places in streams than this database has reached; new ones come after those."""
    with connection.cursor() as cursor:
        sequence = f"pg_get_serial_sequence('{Event._meta.db_table}', 'id')"
        newest = f"coalesce((SELECT max(id) FROM {Event._meta.db_table}), 0)"  # noqa: S608 - a table of ours
        cursor.execute(f"SELECT setval({sequence}, {newest} + %s)", [SERIAL_GAP])
    StreamCursor.objects.filter(job__in=Job.objects.live()).update(last_seq=F("last_seq") + SERIAL_GAP)


def _require_known_migrations() -> None:
    known = MigrationLoader(connection, ignore_no_migrations=True).disk_migrations
    applied = MigrationRecorder(connection).applied_migrations()
    unknown = sorted(set(applied) - set(known))
    if unknown:
        raise BackupError(f"A newer MLHub made this backup ({'.'.join(unknown[0])} is unknown here). Upgrade first.")
