# SPDX-License-Identifier: Apache-2.0
"""A job that trains with a script may have no dataset."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0017_tags_notes_gpu_seconds")]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="dataset_version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to="datasets.datasetversion",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind", "train"), ("dataset_version__isnull", False), _connector="OR"),
                name="job_without_dataset_trains",
            ),
        ),
    ]
