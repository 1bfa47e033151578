# SPDX-License-Identifier: Apache-2.0
"""The JSON of seeing MLHub as a user."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class ImpersonationSerializer(serializers.Serializer[Any]):
    """That an administrator sees MLHub as this user, and changes nothing."""

    by = serializers.CharField(help_text="The administrator's user name.")
    ends_at = serializers.DateTimeField(help_text="When it ends by itself.")
