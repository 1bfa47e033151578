# SPDX-License-Identifier: Apache-2.0
"""An index of jobs by their first step, by which the wait of the last day is found, made while jobs go on.

A migration that is killed leaves an index without effect, which the next try makes anew.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0026_database_defaults")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS jobs_by_start", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                fields=["started_at"], name="jobs_by_start", condition=models.Q(started_at__isnull=False)
            ),
        ),
    ]
