# SPDX-License-Identifier: Apache-2.0
from django.db import migrations, models

COPY = """
UPDATE registry_modelversion AS v
SET trained_on = jsonb_build_object(
    'dataset', d.name, 'number', dv.number, 'format', dv.format, 'schema', coalesce(dv.schema, '{}'::jsonb))
FROM datasets_datasetversion AS dv JOIN datasets_dataset AS d ON d.id = dv.dataset_id
WHERE v.dataset_version_id = dv.id AND v.source = 'training'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0011_database_defaults'),
        ('datasets', '0007_database_defaults'),
    ]

    operations = [
        migrations.AddField(
            model_name='modelversion',
            name='trained_on',
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
    ]
