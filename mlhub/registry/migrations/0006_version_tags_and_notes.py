# SPDX-License-Identifier: Apache-2.0
"""Tags and notes of model versions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0005_version_states")]

    operations = [
        migrations.AddField(model_name="modelversion", name="tags", field=models.JSONField(default=list)),
        migrations.AddField(model_name="modelversion", name="notes", field=models.TextField(blank=True, default="")),
    ]
