# SPDX-License-Identifier: Apache-2.0
"""How busy GPUs were, added up as samples come; what live attempts sent before is added up here."""

import django.db.models.deletion
from django.db import migrations, models


OF_LIVE_ATTEMPTS = """
INSERT INTO metrics_gpubusytime (attempt_id, worker, measured_s, busy_s)
SELECT s.attempt_id, s.index, sum(s.interval_s),
       sum(s.interval_s * (s.values->>'gpu_utilisation')::float8)
FROM metrics_usagesample s JOIN jobs_attempt a ON a.id = s.attempt_id
WHERE a.ended_at IS NULL AND s.role = 'worker' AND s.values ? 'gpu_utilisation'
GROUP BY s.attempt_id, s.index
"""


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0022_organisation_retention'),
        ('metrics', '0015_worker_steps'),
    ]

    operations = [
        migrations.CreateModel(
            name='GpuBusyTime',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('worker', models.PositiveIntegerField()),
                ('measured_s', models.FloatField()),
                ('busy_s', models.FloatField()),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='gpu_busy_times', to='jobs.attempt')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attempt', 'worker'), name='gpu_busy_time_of_worker')],
            },
        ),
        migrations.RunSQL(OF_LIVE_ATTEMPTS, migrations.RunSQL.noop),
    ]
