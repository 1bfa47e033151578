# SPDX-License-Identifier: Apache-2.0
"""The command `mlhub`, the same as `python -m mlhub.embedded`; the client alone is installed without the platform."""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from mlhub.embedded.__main__ import main as embedded
    except ImportError as error:
        print(f"{error.name} is not installed. To run a platform: pip install 'mlhub[embedded]'", file=sys.stderr)
        return 1
    return embedded()
