# SPDX-License-Identifier: Apache-2.0
"""What the Kubernetes API speaks: objects as JSON mappings, whether read from it or to be written."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
Manifest = Object  # an object to be created
