# SPDX-License-Identifier: Apache-2.0
"""Scripts that are modules of a package: those with relative imports are run as `python -m package.module`."""

from __future__ import annotations

import ast
from pathlib import Path


def module_name(script: Path, *, root: Path) -> str | None:
    """The dotted name of a script that imports its package's modules by relative names; None for any other.

    root: the folder that the package is in. A script outside of a package, or with a syntax error, is None as well:
    what is wrong with it is seen when it is run by its path.
    """
    names = [*script.relative_to(root).parts[:-1], script.stem]
    if len(names) == 1 or not all(name.isidentifier() for name in names):
        return None
    try:
        tree = ast.parse(script.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    is_relative = any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))
    return ".".join(names) if is_relative else None
