# SPDX-License-Identifier: Apache-2.0
"""What the newest comparison of the ledger with the attempts found."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("usage", "0002_append_only")]

    operations = [
        migrations.CreateModel(
            name="LedgerCheck",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("failing_since", models.DateTimeField(blank=True, null=True)),
                ("allocations", models.JSONField(default=list)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="one_check_of_the_ledger")
                ],
            },
        ),
    ]
