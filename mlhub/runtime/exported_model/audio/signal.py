# SPDX-License-Identifier: Apache-2.0
"""How clips become signals of one rate and length; an export carries that module in the place of this one."""

from __future__ import annotations

from mlhub.runtime.data.readers.audio.signal import Signal, mixed, part

__all__ = ["Signal", "mixed", "part"]
