# SPDX-License-Identifier: Apache-2.0
"""Versions by reference: where their file is fetched from, and the state while that goes on."""

from django.db import migrations, models

STATES = [
    ("fetching", "Fetching"),
    ("inspecting", "Inspecting"),
    ("needs_columns", "Needs Columns"),
    ("ready", "Ready"),
    ("refused", "Refused"),
]


class Migration(migrations.Migration):
    dependencies = [("datasets", "0004_column_choice")]

    operations = [
        migrations.AddField("datasetversion", "source", models.JSONField(blank=True, null=True)),
        migrations.AlterField(
            "datasetversion", "state", models.CharField(choices=STATES, default="inspecting", max_length=16)
        ),
    ]
