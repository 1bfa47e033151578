# SPDX-License-Identifier: Apache-2.0
"""stands_in_since becomes fallback_since: since when the fallback policy decides."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("control", "0005_quarantine_and_round_health")]

    operations = [
        migrations.RenameField(model_name="schedulerstate", old_name="stands_in_since", new_name="fallback_since"),
    ]
