# SPDX-License-Identifier: Apache-2.0
"""Nothing wrote Attempt.launch. The column stays for now, empty: the version before reads it after a rollback."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0022_organisation_retention"),
    ]

    operations = [
        migrations.AlterField(
            model_name="attempt",
            name="launch",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField(model_name="attempt", name="launch")]
        ),
    ]
