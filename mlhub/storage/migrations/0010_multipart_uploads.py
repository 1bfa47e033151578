"""Uploads whose parts arrive at the same time."""

import django.db.models.deletion
from django.db import migrations, models

import mlhub.core.ids


class Migration(migrations.Migration):
    dependencies = [("storage", "0009_holding_of_project")]

    operations = [
        migrations.AddField("resumableupload", "n_parts", models.PositiveSmallIntegerField(default=0, db_default=0)),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                (
                    "id",
                    models.UUIDField(default=mlhub.core.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("size_bytes", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="storage.resumableupload",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("upload", "number"), name="one_part_of_each_number")
                ]
            },
        ),
    ]
