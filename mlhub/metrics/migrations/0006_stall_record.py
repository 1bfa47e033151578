# SPDX-License-Identifier: Apache-2.0
"""Standstill becomes StallRecord, and told_at reported_at; all rows stay."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0005_ingest_limits"), ("jobs", "0007_rename_strategies")]

    operations = [
        migrations.RemoveConstraint(model_name="standstill", name="standstill_of_worker"),
        migrations.RenameModel(old_name="Standstill", new_name="StallRecord"),
        migrations.RenameField(model_name="stallrecord", old_name="told_at", new_name="reported_at"),
        migrations.AlterField(
            model_name="stallrecord",
            name="attempt",
            field=models.ForeignKey(
                on_delete=models.deletion.CASCADE, related_name="stall_records", to="jobs.attempt"
            ),
        ),
        migrations.AddConstraint(
            model_name="stallrecord",
            constraint=models.UniqueConstraint(fields=("attempt", "worker"), name="stall_record_of_worker"),
        ),
    ]
