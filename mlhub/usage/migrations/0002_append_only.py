# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL refuses to change and to delete entries."""

from django.db import migrations

FORWARDS = """
CREATE FUNCTION mlhub_refuse_change_of_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The usage ledger is append-only: % of entry % is refused.', TG_OP, OLD.id
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER mlhub_usage_append_only BEFORE UPDATE OR DELETE ON usage_usageentry
    FOR EACH ROW EXECUTE FUNCTION mlhub_refuse_change_of_usage();
"""
BACKWARDS = """
DROP TRIGGER mlhub_usage_append_only ON usage_usageentry;
DROP FUNCTION mlhub_refuse_change_of_usage();
"""


class Migration(migrations.Migration):
    dependencies = [("usage", "0001_initial")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
