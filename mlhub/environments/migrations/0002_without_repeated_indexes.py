"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("environments", "0001_environments"),
        ("tenants", "0031_without_repeated_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="projectsecret",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="secrets",
                to="tenants.project",
            ),
        ),
        migrations.AlterField(
            model_name="pythonenvironment",
            name="organisation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="environments",
                to="tenants.organisation",
            ),
        ),
    ]
