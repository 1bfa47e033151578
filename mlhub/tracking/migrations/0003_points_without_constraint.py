"""Points refer to their series without a constraint, which was checked for each of them at every commit."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0002_logged_models")]

    operations = [
        migrations.AlterField(
            "runpoint",
            "series",
            models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="points",
                to="tracking.runseries",
            ),
        ),
    ]
