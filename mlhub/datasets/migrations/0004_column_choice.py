# SPDX-License-Identifier: Apache-2.0
"""Versions may wait for a choice of columns, and keep the statistics that inspection found."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0003_format_choices")]

    operations = [
        migrations.AddField("datasetversion", "statistics", models.JSONField(default=dict)),
        migrations.AlterField(
            "datasetversion",
            "state",
            models.CharField(
                choices=[
                    ("inspecting", "Inspecting"),
                    ("needs_columns", "Needs Columns"),
                    ("ready", "Ready"),
                    ("refused", "Refused"),
                ],
                default="inspecting",
                max_length=16,
            ),
        ),
    ]
