# SPDX-License-Identifier: Apache-2.0
"""What a folder of code is, where its owner did not say: a package, whose entry defines build_model, or a script, which
trains by itself. Standard library only."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

USUAL = ("model.py", "train.py", "main.py")
PACKAGE, SCRIPT = "package", "script"


def usual_entry(folder: Path) -> str:
    """The file that projects are started by: model.py where it is a package's, since many have one that train.py
    imports; else train.py or main.py. "" where none is there."""
    there = [name for name in USUAL if (folder / name).is_file()]
    if there[:1] == [USUAL[0]] and len(there) > 1 and not defines_build_model(folder / USUAL[0]):
        return there[1]
    return there[0] if there else ""


def defines_build_model(path: Path) -> bool:
    """Whether a function of that name is in the module. False for what is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == "build_model" for node in tree.body)


def kind_and_entry(folder: Path) -> tuple[str, str]:
    """The kind of code, and its module or the path of its script, by the files at the top.

    Where nothing is there but one folder, as in archives of repositories, they are those in it. Where none of
    them is there: a package whose module is `model`.
    """
    name = usual_entry(folder) or _only(folder.glob("*.py"))
    if name:
        # a model.py whose build_model is misspelt is no script
        is_package = name == USUAL[0] or defines_build_model(folder / name)
        return (PACKAGE, name.removesuffix(".py")) if is_package else (SCRIPT, name)
    top = _only(path for path in folder.iterdir() if path.is_dir())
    inner = usual_entry(folder / top) if top else ""
    if inner and not defines_build_model(folder / top / inner):
        return SCRIPT, f"{top}/{inner}"
    return PACKAGE, "model"


def _only(paths: Iterable[Path]) -> str:
    """The name of the one path; "" when there are none or several."""
    found = [path.name for path in paths]
    return found[0] if len(found) == 1 else ""
