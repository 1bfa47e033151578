# SPDX-License-Identifier: Apache-2.0
"""A GPU on which an ended job left something is quarantined, too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("control", "0007_forecast_starts_and_causes")]

    operations = [
        migrations.AlterField(
            model_name="quarantinerecord",
            name="kind",
            field=models.CharField(
                choices=[(k, k) for k in ("gang", "pod", "node", "gpu", "attempt", "job", "project", "quota", "step")],
                max_length=10,
            ),
        ),
    ]
