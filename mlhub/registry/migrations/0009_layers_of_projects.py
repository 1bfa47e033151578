# SPDX-License-Identifier: Apache-2.0
"""Versions of code hold the layers of their environments, which count in the storage of their projects from now on."""

from django.db import migrations

HOLD = """
INSERT INTO storage_holding (id, organisation_id, project_id, blob_id, owner_kind, owner_id, created_at)
SELECT gen_random_uuid(), e.organisation_id, m.project_id, e.layer_id, 'model_version', v.id, now()
FROM registry_modelversion v
JOIN environments_pythonenvironment e ON e.id = v.environment_id
JOIN registry_model m ON m.id = v.model_id
WHERE v.state = 'ready' AND e.layer_id IS NOT NULL AND m.project_id IS NOT NULL
ON CONFLICT (owner_kind, owner_id, blob_id) DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0008_logged_versions"),
        ("environments", "0001_environments"),
        ("storage", "0011_completed_uploads"),
    ]

    operations = [migrations.RunSQL(HOLD, migrations.RunSQL.noop)]
