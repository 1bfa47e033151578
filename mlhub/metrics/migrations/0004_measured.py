"""Measured values move from a column each into one, keyed by the names of wire/measurements.py."""

from django.db import migrations, models

NAMES = ("bytes_sent", "bytes_received", "peak_memory_bytes", "noise_scale", "gpu_utilisation", "gpu_memory_bytes")
ABSENT = {"bytes_sent": 0.0, "bytes_received": 0.0, "peak_memory_bytes": 0}  # what a column held if nothing came


def gather(apps, schema_editor):
    for sample in apps.get_model("metrics", "SpeedSample").objects.iterator():
        values = {name: getattr(sample, name) for name in NAMES}
        sample.measured = {n: v for n, v in values.items() if v is not None and v != ABSENT.get(n)}
        sample.save(update_fields=["measured"])


def spread(apps, schema_editor):
    for sample in apps.get_model("metrics", "SpeedSample").objects.iterator():
        for name in NAMES:
            value = sample.measured.get(name, ABSENT.get(name))
            setattr(sample, name, int(value) if value is not None and name.endswith("memory_bytes") else value)
        sample.save(update_fields=NAMES)


class Migration(migrations.Migration):
    dependencies = [("metrics", "0003_families")]

    operations = [
        migrations.AddField("speedsample", "measured", models.JSONField(default=dict)),
        migrations.RunPython(gather, spread),
        *[migrations.RemoveField("speedsample", name) for name in NAMES],
    ]
