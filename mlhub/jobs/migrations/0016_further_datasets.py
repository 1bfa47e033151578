# SPDX-License-Identifier: Apache-2.0
"""Scripts read several datasets, each under a name."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0004_column_choice"), ("jobs", "0015_attempt_batch")]

    operations = [
        migrations.AddField("job", "datasets", models.JSONField(default=dict)),
        migrations.CreateModel(
            name="FurtherDataset",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                (
                    "dataset_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="further_jobs",
                        to="datasets.datasetversion",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="further_datasets", to="jobs.job"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("job", "name"), name="further_dataset_name")],
            },
        ),
    ]
