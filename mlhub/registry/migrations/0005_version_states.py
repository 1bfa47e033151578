# SPDX-License-Identifier: Apache-2.0
"""Versions of models have the states of datasets' versions, one of which is new."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0004_model_aliases")]

    operations = [
        migrations.AlterField(
            "modelversion",
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
