# SPDX-License-Identifier: Apache-2.0
"""Why a file could not be fetched, in the words that its version shows."""

from __future__ import annotations


class FetchError(Exception):
    """The version is refused with this; trying the same again at once would not help."""

    def __init__(self, code: str, message: str, remedy: str, *, field: str = "source.uri") -> None:
        super().__init__(message)
        self.code, self.message, self.remedy, self.field = code, message, remedy, field

    @property
    def shown(self) -> dict[str, str]:
        """As `error` of a version."""
        return {"code": self.code, "field": self.field, "message": self.message[:2000], "remedy": self.remedy[:2000]}
