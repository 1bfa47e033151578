"""Multipart uploads that were completed, so that a repeated request gets the same answer."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("storage", "0010_multipart_uploads"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CompletedUpload",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("place", models.TextField()),
                ("parts_sha256", models.CharField(max_length=64)),
                ("completed_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.project"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["completed_at"], name="completed_uploads_by_age")]},
        ),
    ]
