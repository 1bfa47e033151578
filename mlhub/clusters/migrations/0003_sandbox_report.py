# SPDX-License-Identifier: Apache-2.0
"""What each machine's sandbox protects from is stored, to be shown on the cluster's page."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0002_maintenance")]

    operations = [
        migrations.CreateModel(
            name="SandboxReport",
            fields=[
                ("host", models.CharField(max_length=255, primary_key=True, serialize=False)),
                ("reported_at", models.DateTimeField()),
                ("protections", models.JSONField(default=list)),
                ("error", models.TextField(blank=True, default="")),
            ],
        ),
    ]
