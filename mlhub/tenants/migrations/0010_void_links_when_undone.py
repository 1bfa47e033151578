# SPDX-License-Identifier: Apache-2.0
"""Undone before 0007 is: invitations by link have no name, and before 0007 an organisation had one of a name at most."""

from typing import Any

from django.db import migrations


def delete_links(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 (Django's signature)
    apps.get_model("tenants", "Invitation").objects.filter(username="").delete()


class Migration(migrations.Migration):
    dependencies = [("tenants", "0009_token_limits")]

    operations = [migrations.RunPython(migrations.RunPython.noop, delete_links)]
