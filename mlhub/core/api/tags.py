# SPDX-License-Identifier: Apache-2.0
"""The field of requests that is one tag."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.tags import MAX_TAG_LENGTH


class TagField(serializers.RegexField):
    """A tag: without commas, since lists of tags in addresses are separated by them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            r"^[^,\r\n]+$",
            max_length=MAX_TAG_LENGTH,
            error_messages={"invalid": "A tag has no commas and no line breaks."},
            **options,
        )
