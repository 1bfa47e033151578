# SPDX-License-Identifier: Apache-2.0
"""Replays of the policy lab."""

import django.db.models.deletion
import mlhub.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('control', '0008_quarantined_gpus'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PolicyReplay',
            fields=[
                ('id', models.UUIDField(default=mlhub.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('since', models.DateTimeField(null=True)),
                ('until', models.DateTimeField(null=True)),
                ('trace_name', models.CharField(blank=True, max_length=200)),
                ('trace', models.TextField(blank=True)),
                ('policies', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('progress', models.JSONField(default=dict)),
                ('error', models.TextField(blank=True)),
                ('result', models.JSONField(null=True)),
                ('job_rows', models.JSONField(default=list)),
                ('cancel_asked_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['state', 'id'], name='replays_by_state')],
            },
        ),
    ]
