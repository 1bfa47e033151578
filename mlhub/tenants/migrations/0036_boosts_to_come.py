from django.db import migrations, models
from django.db.models.functions import Now

# those that were there began when they were made
FILL = "UPDATE tenants_quotaboost SET starts_at = created_at, began_at = created_at"


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0035_without_access_log"),
    ]

    operations = [
        migrations.AddField(
            model_name="quotaboost",
            name="starts_at",
            field=models.DateTimeField(db_default=Now()),
        ),
        migrations.AddField(
            model_name="quotaboost",
            name="began_at",
            field=models.DateTimeField(blank=True, db_default=Now(), null=True),
        ),
        migrations.AddField(
            model_name="quotarequest",
            name="starts_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
