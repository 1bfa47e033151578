# SPDX-License-Identifier: Apache-2.0
"""How a table's columns become inputs; an export carries that module in the place of this one."""

from __future__ import annotations

from mlhub.runtime.data.readers.tables.encoding import NUMERIC_WORD, encode

__all__ = ["NUMERIC_WORD", "encode"]
