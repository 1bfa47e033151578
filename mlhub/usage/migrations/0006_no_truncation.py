# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL refuses to empty the ledger, as it refuses to change its rows."""

from django.db import migrations

FORWARDS = """
CREATE TRIGGER mlhub_usage_no_truncation BEFORE TRUNCATE ON usage_usageentry
    FOR EACH STATEMENT EXECUTE FUNCTION mlhub_refuse_truncation();
"""
BACKWARDS = "DROP TRIGGER mlhub_usage_no_truncation ON usage_usageentry;"


class Migration(migrations.Migration):
    dependencies = [("usage", "0005_gpu_busy_time"), ("events", "0006_no_truncation")]

    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
