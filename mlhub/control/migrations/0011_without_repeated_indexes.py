"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("control", "0010_user_budget_alerts"),
        ("jobs", "0025_without_repeated_indexes"),
        ("tenants", "0031_without_repeated_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="forecast",
            name="job",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="forecasts", to="jobs.job"
            ),
        ),
        migrations.AlterField(
            model_name="jobdecision",
            name="job",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="decisions", to="jobs.job"
            ),
        ),
        migrations.AlterField(
            model_name="userbudgetalerts",
            name="organisation",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.organisation"
            ),
        ),
    ]
