"""An index that another one begins with costs each write and finds nothing that the other does not."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0025_without_repeated_indexes"),
        ("metrics", "0017_profiles_of_servers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="gpubusytime",
            name="attempt",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="gpu_busy_times",
                to="jobs.attempt",
            ),
        ),
        migrations.AlterField(
            model_name="logline",
            name="attempt",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="log_lines",
                to="jobs.attempt",
            ),
        ),
        migrations.AlterField(
            model_name="metricpoint",
            name="series",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="points",
                to="metrics.series",
            ),
        ),
        migrations.AlterField(
            model_name="pairsample",
            name="attempt",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pair_samples",
                to="jobs.attempt",
            ),
        ),
        migrations.AlterField(
            model_name="podstream",
            name="attempt",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="streams", to="jobs.attempt"
            ),
        ),
        migrations.AlterField(
            model_name="profiletrace",
            name="recording",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="traces",
                to="metrics.profilerecording",
            ),
        ),
        migrations.AlterField(
            model_name="refusedmeasurement",
            name="attempt",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="refused_measurements",
                to="jobs.attempt",
            ),
        ),
        migrations.AlterField(
            model_name="series",
            name="attempt",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="series", to="jobs.attempt"
            ),
        ),
        migrations.AlterField(
            model_name="staleness",
            name="attempt",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="staleness", to="jobs.attempt"
            ),
        ),
        migrations.AlterField(
            model_name="stallrecord",
            name="attempt",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="stall_records",
                to="jobs.attempt",
            ),
        ),
        migrations.AlterField(
            model_name="usagesample",
            name="attempt",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="usage_samples",
                to="jobs.attempt",
            ),
        ),
        migrations.AlterField(
            model_name="workersteps",
            name="attempt",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="worker_steps",
                to="jobs.attempt",
            ),
        ),
    ]
