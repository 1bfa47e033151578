"""Resources and limits become fields of the job; they stood among its hyperparameters before."""

from django.db import migrations, models

RESOURCES = ("memory_gib", "n_servers", "server_memory_gib")
LIMITS = {"stall_limit_s": "stall_s"}


def move_out(apps, schema_editor):
    Job = apps.get_model("jobs", "Job")
    for job in Job.objects.filter(hyperparameters__has_any_keys=[*RESOURCES, *LIMITS]).iterator():
        given = dict(job.hyperparameters)
        job.resources = {name: given.pop(name) for name in RESOURCES if name in given}
        job.limits = {new: given.pop(old) for old, new in LIMITS.items() if old in given}
        job.hyperparameters = given
        job.save(update_fields=["hyperparameters", "resources", "limits"])


def move_back(apps, schema_editor):
    Job = apps.get_model("jobs", "Job")
    for job in Job.objects.exclude(resources={}, limits={}).iterator():
        old = {name: value for name, value in job.resources.items() if name in RESOURCES}
        old |= {name: job.limits[new] for name, new in LIMITS.items() if new in job.limits}
        job.hyperparameters = {**job.hyperparameters, **old}
        job.save(update_fields=["hyperparameters"])


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_prediction")]

    operations = [
        migrations.AddField("job", "resources", models.JSONField(default=dict)),
        migrations.AddField("job", "limits", models.JSONField(default=dict)),
        migrations.RunPython(move_out, move_back),
    ]
