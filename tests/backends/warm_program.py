# SPDX-License-Identifier: Apache-2.0
"""What warm workers of tests run: the pods of the platform, without torch, so that they are ready soon."""

from __future__ import annotations

from mlhub.runtime.warm.start import run_pod

__all__ = ["prepare", "prepare_badly", "run_pod"]


def prepare() -> None:
    """Imports nothing."""


def prepare_badly() -> None:
    """Fails as an import fails."""
    raise ImportError("libgomp.so.1: cannot open shared object file")
