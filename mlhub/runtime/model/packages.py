# SPDX-License-Identifier: Apache-2.0
"""The module of a model: a built-in one, one of an uploaded package, or one that an importer makes of a file.

It does not import torch, so that a package which does not either is inspected in a fraction of a second.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from mlhub.runtime.data import archives
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.builtin import BUILTINS
from mlhub.runtime.optional import IMPORTERS, optional_parts

OPTIONAL = ("loss", "metrics", "build_optimizer", "preprocess")


def find_module(kind: str, entry: str, package: Path | None, *, code: Path) -> ModuleType:
    """The module that keeps the contract. Raises BadInputError when it does not."""
    if kind == "builtin":
        if entry not in BUILTINS:
            raise BadInputError(
                f"There is no built-in model {entry}.", field="entry", remedy=f"Known: {', '.join(BUILTINS)}."
            )
        return importlib.import_module(f"mlhub.runtime.model.builtin.{entry}")
    if package is None:
        raise BadInputError("The package is missing.", field="file", remedy="Upload a zip or a Python file.")
    archives.extract(package, code)
    if not any(code.rglob("*.py")):
        made_elsewhere = _imported(code, entry=entry)
        if made_elsewhere is not None:
            return made_elsewhere
    if not (code / f"{entry.replace('.', '/')}.py").exists() and not (code / entry.replace(".", "/")).is_dir():
        found = ", ".join(sorted(p.name for p in code.iterdir())[:20]) or "nothing"
        raise BadInputError(
            f"The package has no module {entry}; it has {found}.",
            field="entry",
            remedy="Put model.py at the top of the zip, or name the module that defines build_model.",
        )
    sys.path.insert(0, str(code))
    module = importlib.import_module(entry)
    if not callable(getattr(module, "build_model", None)):
        raise BadInputError(
            f"The module {entry} has no function build_model.",
            field="file",
            remedy="Define build_model(hyperparameters), which returns a torch.nn.Module; or upload code that "
            "trains by itself with the kind script and its entry, such as train.py.",
        )
    for name in OPTIONAL:
        if hasattr(module, name) and not callable(getattr(module, name)):
            raise BadInputError(
                f"{name} in {entry} is no function.", field="file", remedy="Make it a function, or rename it."
            )
    return module


def _imported(code: Path, *, entry: str) -> ModuleType | None:
    """A package without code: the first importer that knows its file makes a module of it. Raises BadInputError."""
    for importer in optional_parts(IMPORTERS):
        module: ModuleType | None = importer.imported(code, entry=entry)
        if module is not None:
            return module
    return None
