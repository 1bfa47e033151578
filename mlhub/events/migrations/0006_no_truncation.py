# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL refuses to empty the table of events, too: TRUNCATE, and with it manage.py flush, asks no trigger of rows."""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION mlhub_refuse_truncation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: TRUNCATE is refused.', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER mlhub_events_no_truncation BEFORE TRUNCATE ON events_event
    FOR EACH STATEMENT EXECUTE FUNCTION mlhub_refuse_truncation();
"""
BACKWARDS = """
DROP TRIGGER mlhub_events_no_truncation ON events_event;
DROP FUNCTION mlhub_refuse_truncation();
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0005_without_repeated_indexes")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
