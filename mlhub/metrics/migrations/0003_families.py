"""Families no longer depend on what never changes a step: the measured speeds are filed under their new keys."""

import hashlib
import json

from django.db import migrations

# as mlhub/jobs/execution/families.py had it when this migration was written
WITHOUT_EFFECT_ON_STEPS = frozenset({
    "learning_rate", "weight_decay", "momentum", "lr_schedule", "warmup_steps", "warmup_from", "final_learning_rate",
    "lr", "wd", "betas", "eps", "gamma", "dropout", "label_smoothing", "seed",
    "patience", "stop_at_target", "evaluate_first", "evaluate_only", "l1",
})


OLD_NAMES = {"model_averaging": "averaging", "sufficient_factor_broadcasting": "outer_products"}


def new_key(job):
    code = job.model_version.code_version_id or job.model_version_id
    shape = {name: value for name, value in job.hyperparameters.items() if name not in WITHOUT_EFFECT_ON_STEPS}
    parts = [str(code), str(job.dataset_version_id), job.kind, shape, job.strategy]
    if job.kind != "train":
        parts.append(job.prediction)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]


def old_key(job):
    code = job.model_version.code_version_id or job.model_version_id
    given = {**job.hyperparameters, **{k: v for k, v in job.resources.items() if k != "cpus"}}
    if "stall_s" in job.limits:
        given["stall_limit_s"] = job.limits["stall_s"]
    shape = json.dumps(given, sort_keys=True)
    if job.kind != "train":
        shape += json.dumps([job.kind, job.prediction], sort_keys=True)
    if job.strategy:
        name = OLD_NAMES.get(job.strategy.get("name"), job.strategy.get("name"))
        shape += json.dumps({**job.strategy, "name": name}, sort_keys=True)
    return hashlib.sha256(f"{code}|{job.dataset_version_id}|{shape}".encode()).hexdigest()[:40]

READ = [
    "attempt__job__model_version__code_version",
    *(
        f"attempt__job__{name}"
        for name in ("dataset_version", "kind", "hyperparameters", "strategy", "prediction", "resources", "limits")
    ),
]


def refile(key):
    def run(apps, schema_editor):
        SpeedSample = apps.get_model("metrics", "SpeedSample")
        # no other columns: on the way back, later migrations of jobs may be undone already
        samples = SpeedSample.objects.select_related("attempt__job__model_version").only("family", *READ)
        for sample in samples.iterator():
            sample.family = key(sample.attempt.job)
            sample.save(update_fields=["family"])

    return run


class Migration(migrations.Migration):
    dependencies = [("jobs", "0007_rename_strategies"), ("metrics", "0002_self_measurement")]

    operations = [migrations.RunPython(refile(new_key), refile(old_key))]
