# SPDX-License-Identifier: Apache-2.0
"""Seconds that are read from the environment, within bounds."""

from __future__ import annotations

import environ
from django.core.exceptions import ImproperlyConfigured


def read_seconds(env: environ.Env, name: str, *, default: float, least: float, most: float) -> float:
    """Raises ImproperlyConfigured, with the bounds, for a value outside them."""
    seconds = float(env.float(name, default=default))
    if not least <= seconds <= most:
        raise ImproperlyConfigured(f"{name} is {seconds:g}; give seconds from {least:g} to {most:g}.")
    return seconds
