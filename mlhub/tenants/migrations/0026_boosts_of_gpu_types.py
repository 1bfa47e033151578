# SPDX-License-Identifier: Apache-2.0

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0025_submitters")]
    operations = [
        migrations.AddField(
            "quotaboost", "extra_gpus_by_type", models.JSONField(blank=True, db_default={}, default=dict)
        ),
        migrations.AddField(
            "quotarequest", "extra_gpus_by_type", models.JSONField(blank=True, db_default={}, default=dict)
        ),
    ]
