"""Rows of deleted series and attempts stay for a task that removes them in pieces; a trigger notes whose they are."""

import django.db.models.deletion
from django.db import migrations, models

FORWARDS = """
CREATE FUNCTION mlhub_note_detached_points() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO metrics_detachedrows (kind, series_id) SELECT 'points', id FROM gone ORDER BY id;
    RETURN NULL;
END $$;
CREATE TRIGGER mlhub_detached_points AFTER DELETE ON metrics_series
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION mlhub_note_detached_points();
CREATE FUNCTION mlhub_note_detached_lines() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO metrics_detachedrows (kind, attempt_id)
        SELECT kind, id FROM gone CROSS JOIN unnest(ARRAY['lines', 'usage']) AS kind ORDER BY id, kind;
    RETURN NULL;
END $$;
CREATE TRIGGER mlhub_detached_lines AFTER DELETE ON jobs_attempt
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION mlhub_note_detached_lines();
"""
BACKWARDS = """
DROP TRIGGER mlhub_detached_points ON metrics_series;
DROP FUNCTION mlhub_note_detached_points();
DROP TRIGGER mlhub_detached_lines ON jobs_attempt;
DROP FUNCTION mlhub_note_detached_lines();
"""
# before the constraints come back
REMOVE_DETACHED = """
DELETE FROM metrics_metricpoint p USING metrics_detachedrows d WHERE d.kind = 'points' AND p.series_id = d.series_id;
DELETE FROM metrics_logline l USING metrics_detachedrows d WHERE d.kind = 'lines' AND l.attempt_id = d.attempt_id;
DELETE FROM metrics_usagesample u USING metrics_detachedrows d WHERE d.kind = 'usage' AND u.attempt_id = d.attempt_id;
"""


def unbound(to: str, related_name: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name=related_name,
        to=to,
    )


class Migration(migrations.Migration):
    dependencies = [("jobs", "0019_notebooks"), ("metrics", "0012_profile_recordings")]

    operations = [
        migrations.CreateModel(
            name="DetachedRows",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("points", "Points"), ("lines", "Lines"), ("usage", "Usage")], max_length=6
                    ),
                ),
                ("series_id", models.BigIntegerField(null=True)),
                ("attempt_id", models.UUIDField(null=True)),
            ],
        ),
        migrations.AlterField("metricpoint", "series", unbound("metrics.series", "points")),
        migrations.AlterField("logline", "attempt", unbound("jobs.attempt", "log_lines")),
        migrations.AlterField("usagesample", "attempt", unbound("jobs.attempt", "usage_samples")),
        migrations.RunSQL(FORWARDS, BACKWARDS),
        migrations.RunSQL(migrations.RunSQL.noop, REMOVE_DETACHED),
    ]
