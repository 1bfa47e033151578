# SPDX-License-Identifier: Apache-2.0
"""A job may be a notebook; when something was last done in it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0005_sources'),
        ('jobs', '0018_job_without_dataset'),
        ('registry', '0007_fetching_state'),
        ('tenants', '0015_gpu_hour_budgets'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NotebookActivity',
            fields=[
                ('attempt', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='notebook', serialize=False, to='jobs.attempt')),
                ('active_at', models.DateTimeField()),
                ('reported_at', models.DateTimeField()),
                ('warned_at', models.DateTimeField(blank=True, null=True)),
                ('reclaimed_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_without_dataset_trains',
        ),
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('train', 'Train'), ('predict', 'Predict'), ('evaluate', 'Evaluate'), ('notebook', 'Notebook')], default='train', max_length=8),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['train', 'notebook']), ('dataset_version__isnull', False), _connector='OR'), name='job_without_dataset'),
        ),
    ]
