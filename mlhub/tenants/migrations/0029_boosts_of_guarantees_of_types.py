# SPDX-License-Identifier: Apache-2.0

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0028_guarantees_of_types")]
    operations = [
        migrations.AddField(
            "quotaboost", "extra_guarantee_by_type", models.JSONField(blank=True, db_default={}, default=dict)
        ),
        migrations.AddField(
            "quotarequest", "extra_guarantee_by_type", models.JSONField(blank=True, db_default={}, default=dict)
        ),
    ]
