# SPDX-License-Identifier: Apache-2.0
"""Environment variables that users give to jobs: what they may be called, and how much they may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mlhub.core.errors import InvalidInputError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
MAX_VARIABLES = 100
MAX_BYTES = 64 * 1024
OF_THE_PLATFORM = {
    "PATH", "PYTHONPATH", "PYTHONHOME", "HOME", "TMPDIR", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "GLIBC_TUNABLES",
}  # fmt: skip


def check_name(name: str, *, field: str) -> None:
    """Raises InvalidInputError for what is no variable's name, and for those that the platform sets."""
    if not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name[:100]!r} is no name of an environment variable.",
            field=field,
            remedy="Use letters, digits and underscores, not a digit first; 100 characters at most.",
        )
    if name.startswith("MLHUB_") or name in OF_THE_PLATFORM:
        raise InvalidInputError(f"{name} is set by the platform.", field=field, remedy="Choose another name.")


def check_variables(variables: Mapping[str, str], secrets: Sequence[str]) -> None:
    """Raises InvalidInputError for a wrong name, one that is given twice, or too much of them."""
    for name in variables:
        check_name(name, field="environment")
    if twice := sorted(set(variables) & set(secrets)):
        raise InvalidInputError(
            f"{twice[0]} is a variable and a secret.", field="environment", remedy="Leave one of them out."
        )
    size = sum(len(name.encode()) + len(value.encode()) for name, value in variables.items())
    if len(variables) > MAX_VARIABLES or size > MAX_BYTES or any("\x00" in value for value in variables.values()):
        raise InvalidInputError(
            f"The {len(variables)} variables take {size:,} bytes.",
            field="environment",
            remedy=f"Give at most {MAX_VARIABLES} of {MAX_BYTES:,} bytes together, without NUL.",
        )
