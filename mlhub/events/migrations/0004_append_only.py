# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL refuses to change events, and to delete them but by manage.py prune_audit, which sets mlhub.deletes_events."""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION mlhub_refuse_change_of_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('mlhub.deletes_events', true) = 'yes' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'Events are append-only: % of event % is refused.', TG_OP, OLD.id
        USING ERRCODE = 'restrict_violation', HINT = 'Old events are deleted by manage.py prune_audit.';
END $$;
CREATE TRIGGER mlhub_events_append_only BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION mlhub_refuse_change_of_events();
"""
BACKWARDS = """
DROP TRIGGER mlhub_events_append_only ON events_event;
DROP FUNCTION mlhub_refuse_change_of_events();
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0003_hash_chain")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
