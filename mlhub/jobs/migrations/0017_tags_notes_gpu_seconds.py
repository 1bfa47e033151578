# SPDX-License-Identifier: Apache-2.0
"""Tags and notes of jobs, and the GPU-seconds that their ended attempts held."""

import django.contrib.postgres.indexes
from django.db import migrations, models

COUNT = """
UPDATE jobs_job SET gpu_s = held.gpu_s FROM (
    SELECT attempt.job_id, sum(jsonb_array_length(allocation.slots)
        * greatest(0, extract(epoch FROM allocation.released_at - attempt.created_at))) AS gpu_s
    FROM jobs_allocation allocation JOIN jobs_attempt attempt ON attempt.id = allocation.attempt_id
    WHERE allocation.released_at IS NOT NULL GROUP BY attempt.job_id) AS held
WHERE held.job_id = jobs_job.id
"""


class Migration(migrations.Migration):
    dependencies = [("jobs", "0016_further_datasets")]

    operations = [
        migrations.AddField(model_name="job", name="tags", field=models.JSONField(default=list)),
        migrations.AddField(model_name="job", name="notes", field=models.TextField(blank=True, default="")),
        migrations.AddField(model_name="job", name="gpu_s", field=models.FloatField(default=0)),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="job", index=models.Index(fields=["created_by", "-id"], name="jobs_of_owner")
        ),
        migrations.AddIndex(
            model_name="job", index=django.contrib.postgres.indexes.GinIndex(fields=["tags"], name="job_tags")
        ),
    ]
