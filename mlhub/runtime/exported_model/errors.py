# SPDX-License-Identifier: Apache-2.0
"""The error of inputs that the model cannot take."""

from __future__ import annotations


class UnusableRowError(ValueError):
    """field: the column or argument that is wrong. remedy: what to give instead."""

    def __init__(self, message: str, *, field: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message, self.field, self.remedy = message, field, remedy
