# SPDX-License-Identifier: Apache-2.0
"""An index of jobs by name, which addresses and `?ref=` look for, made while jobs go on.

A migration that is killed leaves an index without effect, which the next try makes anew.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0023_attempt_without_launch")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS jobs_of_name", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(fields=["name", "project", "-id"], name="jobs_of_name"),
        ),
    ]
