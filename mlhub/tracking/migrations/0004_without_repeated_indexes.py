"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0031_without_repeated_indexes"),
        ("tracking", "0003_points_without_constraint"),
    ]

    operations = [
        migrations.AlterField(
            model_name="loggedmodel",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="logged_models",
                to="tenants.project",
            ),
        ),
        migrations.AlterField(
            model_name="loggedmodelfile",
            name="logged_model",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="files",
                to="tracking.loggedmodel",
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="project",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="tenants.project"
            ),
        ),
        migrations.AlterField(
            model_name="runartifact",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="artifacts", to="tracking.run"
            ),
        ),
        migrations.AlterField(
            model_name="rundataset",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="datasets", to="tracking.run"
            ),
        ),
        migrations.AlterField(
            model_name="runmodel",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="models", to="tracking.run"
            ),
        ),
        migrations.AlterField(
            model_name="runparam",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="params", to="tracking.run"
            ),
        ),
        migrations.AlterField(
            model_name="runpoint",
            name="series",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="points",
                to="tracking.runseries",
            ),
        ),
        migrations.AlterField(
            model_name="runseries",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="series", to="tracking.run"
            ),
        ),
        migrations.AlterField(
            model_name="runtag",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="tags", to="tracking.run"
            ),
        ),
    ]
