# SPDX-License-Identifier: Apache-2.0
"""How busy GPUs were while they were held; nothing was measured of what was entered before."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('usage', '0004_teams_above'),
    ]

    operations = [
        migrations.AddField(
            model_name='usageentry',
            name='busy_gpu_s',
            field=models.FloatField(db_default=0.0, default=0.0),
        ),
        migrations.AddField(
            model_name='usageentry',
            name='measured_gpu_s',
            field=models.FloatField(db_default=0.0, default=0.0),
        ),
    ]
