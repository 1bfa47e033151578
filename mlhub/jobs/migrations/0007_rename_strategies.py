"""Two strategies got the names that the literature has for them; jobs that were submitted before keep their meaning."""

from collections.abc import Mapping

from django.db import migrations

RENAMED = {"averaging": "model_averaging", "outer_products": "sufficient_factor_broadcasting"}


def rename(apps, names: Mapping[str, str]) -> None:
    jobs = apps.get_model("jobs", "Job").objects
    for job in jobs.filter(strategy__name__in=list(names)).iterator():
        strategy = {**job.strategy, "name": names[job.strategy["name"]]}
        jobs.filter(pk=job.pk).update(strategy=strategy)


def forwards(apps, schema_editor) -> None:
    rename(apps, RENAMED)


def backwards(apps, schema_editor) -> None:
    rename(apps, {new: old for old, new in RENAMED.items()})


class Migration(migrations.Migration):
    dependencies = [("jobs", "0006_resources_and_limits")]
    operations = [migrations.RunPython(forwards, backwards)]
