"""The formats are declared in wire/formats.py; the column asks there."""

from django.db import migrations, models

import mlhub.datasets.models


class Migration(migrations.Migration):
    dependencies = [("datasets", "0002_initial")]

    operations = [
        migrations.AlterField(
            "datasetversion",
            "format",
            models.CharField(choices=mlhub.datasets.models.format_choices, max_length=16),
        ),
    ]
