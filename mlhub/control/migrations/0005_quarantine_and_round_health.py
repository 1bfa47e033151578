# SPDX-License-Identifier: Apache-2.0
"""What rounds leave out is stored, and when rounds were attempted and stopped."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('control', '0004_scheduler_memory'),
        ('jobs', '0007_rename_strategies'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedulerstate',
            name='attempted_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='schedulerstate',
            name='error',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.AddField(
            model_name='schedulerstate',
            name='stopped_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name='QuarantineRecord',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('gang', 'gang'), ('pod', 'pod'), ('node', 'node'), ('attempt', 'attempt'), ('job', 'job'), ('project', 'project'), ('quota', 'quota'), ('step', 'step')], max_length=10)),
                ('name', models.CharField(max_length=300)),
                ('reason', models.TextField()),
                ('since', models.DateTimeField()),
                ('last_seen_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(db_index=True, null=True)),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='quarantine_records', to='jobs.job')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('kind', 'name'), name='quarantine_record_of_item')],
            },
        ),
    ]
