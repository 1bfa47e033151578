# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of datasets; an export carries their module in the place of this one."""

from __future__ import annotations

from mlhub.runtime.data.readers.tokens import first_tokens, from_json

__all__ = ["first_tokens", "from_json"]
