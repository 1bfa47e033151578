"""The scheduler's memory moves out of the administrator's settings and the loop's state into a table of its own."""

from django.db import migrations, models

# The form of a memory of version 1, by the names of version 2.
VERSION_1 = {
    "policy": "policy",
    "policy_values": "values",
    "prediction_intervals": "bands",
    "arrival_effects": "arrivals",
    "job_lengths": "lengths",
    "resizing": "resizing",
    "claims_since_s": "claims",
    "pending_since_s": "claims",
    "decayed_usage": "use",
}


def as_version_1(value):
    if value.get("version", 1) == 1:
        return value
    old = {VERSION_1[name]: each for name, each in value.items() if name in VERSION_1}
    for promise in old.get("resizing", {}).values():
        if "colocated_with" in promise:
            promise["beside"] = promise.pop("colocated_with")
    return {name: each for name, each in old.items() if each or name in ("policy", "values", "resizing")}


def move_out(apps, _schema_editor):
    """As it is: what reads memories reads version 1, too."""
    memories = apps.get_model("control", "SchedulerMemory").objects
    for settings in apps.get_model("control", "SchedulerSettings").objects.filter(pk=1):
        memories.create(owner="policy", version=1, value=settings.memory)
    for state in apps.get_model("control", "SchedulerState").objects.filter(pk=1):
        memories.create(owner="shadow", version=1, value=state.shadow_memory)


def move_back(apps, _schema_editor):
    found = {row.owner: as_version_1(row.value) for row in apps.get_model("control", "SchedulerMemory").objects.all()}
    settings = apps.get_model("control", "SchedulerSettings").objects.filter(pk=1)
    settings.update(memory=found.get("policy", {}))
    state = apps.get_model("control", "SchedulerState").objects.filter(pk=1)
    state.update(shadow_memory=found.get("shadow", {}))


class Migration(migrations.Migration):
    dependencies = [("control", "0003_fair_shares")]

    operations = [
        migrations.CreateModel(
            name="SchedulerMemory",
            fields=[
                (
                    "owner",
                    models.CharField(
                        choices=[("policy", "Policy"), ("shadow", "Shadow")],
                        max_length=10,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("version", models.PositiveSmallIntegerField()),
                ("value", models.JSONField(default=dict)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.RunPython(move_out, move_back),
        migrations.RemoveField(model_name="schedulersettings", name="memory"),
        migrations.RemoveField(model_name="schedulerstate", name="shadow_memory"),
    ]
