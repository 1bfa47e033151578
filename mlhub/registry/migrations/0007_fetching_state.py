# SPDX-License-Identifier: Apache-2.0
"""The state in which dataset versions are fetched; versions of models, which share the states, never have it."""

from django.db import migrations, models

STATES = [
    ("fetching", "Fetching"),
    ("inspecting", "Inspecting"),
    ("needs_columns", "Needs Columns"),
    ("ready", "Ready"),
    ("refused", "Refused"),
]


class Migration(migrations.Migration):
    dependencies = [("registry", "0006_version_tags_and_notes")]

    operations = [
        migrations.AlterField(
            "modelversion", "state", models.CharField(choices=STATES, default="inspecting", max_length=16)
        )
    ]
