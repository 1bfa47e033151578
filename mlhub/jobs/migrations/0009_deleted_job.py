# SPDX-License-Identifier: Apache-2.0

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0008_removed_parts'),
        ('tenants', '0004_invitations_and_priorities'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeletedJob',
            fields=[
                ('id', models.UUIDField(primary_key=True, serialize=False)),
                ('deleted_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tenants.project')),
            ],
        ),
    ]
