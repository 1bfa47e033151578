# SPDX-License-Identifier: Apache-2.0
"""Who has a notebook open."""

import django.db.models.deletion
import mlhub.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('jobs', '0019_notebooks'),
        ('tenants', '0015_gpu_hour_budgets'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NotebookAccess',
            fields=[
                ('id', models.UUIDField(default=mlhub.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('session_key', models.CharField(blank=True, max_length=40)),
                ('ticket_hash', models.CharField(max_length=64, unique=True)),
                ('cookie_hash', models.CharField(max_length=64, null=True, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notebook_accesses', to='jobs.job')),
                ('token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.apitoken')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='notebooks_n_created_f9e2b8_idx')],
            },
        ),
    ]
