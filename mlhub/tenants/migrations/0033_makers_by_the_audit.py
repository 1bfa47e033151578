from django.db import migrations

# who made a project before it was kept with it is in the audit
FILL = """
UPDATE tenants_project SET created_by_id = e.actor_id
FROM events_event e JOIN tenants_user u ON u.id = e.actor_id
WHERE e.subject_id = tenants_project.id AND e.kind = 'project.created' AND tenants_project.created_by_id IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0032_makers_of_projects"),
        ("events", "0005_without_repeated_indexes"),
    ]

    operations = [
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
