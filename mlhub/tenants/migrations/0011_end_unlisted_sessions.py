# SPDX-License-Identifier: Apache-2.0
"""Sessions from before 0006 are on no list, so nobody could end them: their people sign in once more."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def end_unlisted(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 (Django's signature)
    listed = apps.get_model("tenants", "UserSession").objects.values("session_key")
    apps.get_model("sessions", "Session").objects.exclude(session_key__in=listed).delete()


class Migration(migrations.Migration):
    dependencies = [("tenants", "0010_void_links_when_undone"), ("sessions", "0001_initial")]
    operations = [migrations.RunPython(end_unlisted, migrations.RunPython.noop)]
