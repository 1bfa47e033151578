# SPDX-License-Identifier: Apache-2.0
"""The container image that code brings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0012_trained_on")]

    operations = [
        migrations.AddField(
            model_name="modelversion",
            name="image",
            field=models.CharField(blank=True, db_default="", default="", max_length=512),
        ),
    ]
