# SPDX-License-Identifier: Apache-2.0
"""The role submitter, between member and viewer. Undone, those who have it are viewers: no earlier version knows it."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

HOLDERS = ("Membership", "Invitation", "RoleBinding")
BOUND = ("admin", "member", "submitter", "viewer")
ROLES = ("owner", "admin", "member", "submitter", "auditor", "viewer", "outsider")


def to_viewers(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 (Django's signature)
    for name in HOLDERS:
        apps.get_model("tenants", name).objects.filter(role="submitter").update(role="viewer")


class Migration(migrations.Migration):
    dependencies = [("tenants", "0024_limits_of_cpus_and_memory")]
    operations = [
        migrations.AlterField(
            "invitation", "role", models.CharField(choices=[(role, role) for role in ROLES], max_length=10)
        ),
        migrations.AlterField(
            "membership", "role", models.CharField(choices=[(role, role) for role in ROLES], max_length=10)
        ),
        migrations.AlterField(
            "rolebinding", "role", models.CharField(choices=[(role, role) for role in BOUND], max_length=10)
        ),
        migrations.RunPython(migrations.RunPython.noop, to_viewers),
    ]
