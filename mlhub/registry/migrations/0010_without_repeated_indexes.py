"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0009_layers_of_projects"),
        ("tenants", "0031_without_repeated_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="model",
            name="project",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="models",
                to="tenants.project",
            ),
        ),
        migrations.AlterField(
            model_name="modelalias",
            name="model",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="aliases", to="registry.model"
            ),
        ),
        migrations.AlterField(
            model_name="modelfile",
            name="version",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="files",
                to="registry.modelversion",
            ),
        ),
        migrations.AlterField(
            model_name="modelversion",
            name="model",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="versions",
                to="registry.model",
            ),
        ),
    ]
