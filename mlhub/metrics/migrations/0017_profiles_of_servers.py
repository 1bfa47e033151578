"""Profiles of parameter servers, besides those of workers."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0016_gpu_busy_time")]

    operations = [
        migrations.AddField(
            "profiletrace", "role", models.CharField(default="worker", db_default="worker", max_length=10)
        ),
        migrations.RemoveConstraint("profiletrace", "profile_trace_of_rank"),
        migrations.AddConstraint(
            "profiletrace",
            models.UniqueConstraint(fields=("recording", "role", "rank"), name="profile_trace_of_pod"),
        ),
    ]
