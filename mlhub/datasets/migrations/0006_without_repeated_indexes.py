"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("datasets", "0005_sources"),
        ("tenants", "0031_without_repeated_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="dataset",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="datasets",
                to="tenants.project",
            ),
        ),
        migrations.AlterField(
            model_name="datasetversion",
            name="dataset",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="versions",
                to="datasets.dataset",
            ),
        ),
    ]
