# SPDX-License-Identifier: Apache-2.0
"""How the numbers of a CSV are written; an export carries that module in the place of this one."""

from __future__ import annotations

from mlhub.wire.number_formats import EXAMPLES, is_number_otherwise, number_of

__all__ = ["EXAMPLES", "is_number_otherwise", "number_of"]
