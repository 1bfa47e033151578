# SPDX-License-Identifier: Apache-2.0
"""Quotas have budgets of GPU-hours per period."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0014_single_sign_on")]

    operations = [
        migrations.AddField("projectquota", "budgets", models.JSONField(blank=True, default=list)),
        migrations.AddField("projectquota", "budget_alerts", models.JSONField(blank=True, default=dict, editable=False)),
        migrations.AddField("quota", "budgets", models.JSONField(blank=True, default=list)),
        migrations.AddField("quota", "budget_alerts", models.JSONField(blank=True, default=dict, editable=False)),
        migrations.AddField("teamquota", "budgets", models.JSONField(blank=True, default=list)),
        migrations.AddField("teamquota", "budget_alerts", models.JSONField(blank=True, default=dict, editable=False)),
    ]
