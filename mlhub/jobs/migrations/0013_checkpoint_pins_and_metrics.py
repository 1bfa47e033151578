from django.db import migrations, models


class Migration(migrations.Migration):
    """Checkpoints may be pinned, and know the metrics of their evaluation."""

    dependencies = [
        ("jobs", "0012_startup_marks"),
    ]

    operations = [
        migrations.AddField(
            model_name="checkpoint",
            name="is_pinned",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="metrics",
            field=models.JSONField(default=dict),
        ),
    ]
