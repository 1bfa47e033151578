# SPDX-License-Identifier: Apache-2.0
"""What separates the columns of a CSV file. Standard library only: exports of models carry a copy of this module."""

from __future__ import annotations

import re

DELIMITERS = (",", ";", "\t", "|")


def delimiter_of(header: str) -> str:
    """Returns a comma, or what is more frequent in the header line outside of quotes."""
    plain = re.sub(r'"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)
