# SPDX-License-Identifier: Apache-2.0
"""Empties django-axes' log of sign-ins: the audit has them, and nothing ever read or pruned this one."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tenants", "0034_database_defaults"), ("axes", "0001_initial")]

    operations = [migrations.RunSQL("DELETE FROM axes_accesslog", migrations.RunSQL.noop)]
