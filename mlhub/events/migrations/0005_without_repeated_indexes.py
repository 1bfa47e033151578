"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0004_append_only"),
        ("tenants", "0031_without_repeated_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="organisation",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="tenants.organisation",
            ),
        ),
    ]
