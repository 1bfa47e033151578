"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0030_borrowing_and_lending_of_types"),
    ]

    operations = [
        migrations.AlterField(
            model_name="externalidentity",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="identities",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="membership",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="memberships",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="project",
            name="organisation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="projects",
                to="tenants.organisation",
            ),
        ),
        migrations.AlterField(
            model_name="rolebinding",
            name="membership",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="role_bindings",
                to="tenants.membership",
            ),
        ),
        migrations.AlterField(
            model_name="team",
            name="organisation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="teams",
                to="tenants.organisation",
            ),
        ),
        migrations.AlterField(
            model_name="userquota",
            name="organisation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="user_quotas",
                to="tenants.organisation",
            ),
        ),
    ]
