# SPDX-License-Identifier: Apache-2.0
"""Lines of a pod's reports that MLHub's own reporter cannot have written: proof that the job's code wrote there.

The reporter writes a report as one line, in one call. What a full disk or a loss of power leaves of it begins as a
report does, or has characters in it that no report has; that proves nothing. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mlhub.wire.report import from_dict

BEGIN = '{"type": '
LOST = "�"  # of bytes that are no text, such as the NULs of a page that was never written


def is_forged(line: str) -> bool:
    """line: one that is no JSON, as it was decoded, without its end."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return not _may_be_torn(line, error)
    except (ValueError, RecursionError):  # numbers of thousands of digits, and nesting without end
        return True
    return False


def n_before_forged(reports: Sequence[Any]) -> int | None:
    """Of parsed lines that the platform refused: how many there are before the first one that is no report by its type
    and fields; None when all are, so that what it refused may be the reporter's."""
    for place, report in enumerate(reports):
        try:
            from_dict(report if isinstance(report, dict) else {})
        except ValueError:
            return place
    return None


def _may_be_torn(line: str, error: json.JSONDecodeError) -> bool:
    """Whether it may be the beginning of a report, maybe with another report after it."""
    if LOST in line or BEGIN.startswith(line):
        return True
    is_cut = error.pos >= len(line) - 1 or error.msg.startswith("Unterminated string")
    return line.startswith(BEGIN) and (is_cut or BEGIN in line[1:])
