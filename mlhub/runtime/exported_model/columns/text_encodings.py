# SPDX-License-Identifier: Apache-2.0
"""The encodings of CSV files; an export carries their module in the place of this one."""

from __future__ import annotations

from mlhub.wire.text_encodings import encoding_of

__all__ = ["encoding_of"]
