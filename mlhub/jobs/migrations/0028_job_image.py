# SPDX-License-Identifier: Apache-2.0
"""The container image that a job brings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0027_jobs_by_start")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="image",
            field=models.CharField(blank=True, db_default="", default="", max_length=512),
        ),
    ]
