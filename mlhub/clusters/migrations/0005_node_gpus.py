# SPDX-License-Identifier: Apache-2.0
"""Nodes show their GPUs as the driver shows them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0004_gpu_memory")]

    operations = [
        migrations.AddField(model_name="node", name="gpus", field=models.JSONField(default=list)),
    ]
