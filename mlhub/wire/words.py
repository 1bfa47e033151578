# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in the English of messages: 1 worker, 2 workers."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
