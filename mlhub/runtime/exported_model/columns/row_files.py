# SPDX-License-Identifier: Apache-2.0
"""Rows of files; an export carries their module in the place of this one."""

from __future__ import annotations

from mlhub.wire.row_files import rows_in, unseen_categories, with_row_renamed

__all__ = ["rows_in", "unseen_categories", "with_row_renamed"]
