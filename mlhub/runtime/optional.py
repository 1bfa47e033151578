# SPDX-License-Identifier: Apache-2.0
"""Optional parts of the runtime, found by entry point: APIs of other frameworks for scripts, importers of models.

The core never imports them by name, so that an image may leave them out, or bring others. A tree that is not installed
as a distribution has no entry points; then the table below counts. Standard library only.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from types import ModuleType

COMPAT, IMPORTERS = "mlhub.compat", "mlhub.importers"
BUILT_IN: Mapping[str, Mapping[str, str]] = {
    COMPAT: {
        "horovod": "mlhub.runtime.compat.hvd",
        "kvstore": "mlhub.runtime.compat.kv",
        "tables": "mlhub.runtime.compat.tables",
    },
    IMPORTERS: {
        "onnx": "mlhub.runtime.importers.onnx",
        "keras": "mlhub.runtime.importers.keras",
        "caffe": "mlhub.runtime.importers.caffe",
        "torch7": "mlhub.runtime.importers.torch7",
    },
}


def find_optional(group: str, name: str) -> ModuleType | None:
    """The part's package; None when this image has no such part, or lacks a library that it needs.

    Raises what its own code raises while it is imported.
    """
    module = declared_modules(group).get(name)
    if module is None:
        return None
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("mlhub.runtime") and not module.startswith(missing.name or ""):
            raise  # of a part that is there, and broken
        return None


def find_loaded(group: str, name: str) -> ModuleType | None:
    """The part's package when somebody has imported it; importing it, which may bring torch, takes seconds."""
    return sys.modules.get(declared_modules(group).get(name, ""))


class HorovodFinder(Loader):
    """Last in sys.meta_path: `import horovod` finds the part that stands in, unless the image has Horovod itself."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != "horovod":
            return None
        sys.meta_path.remove(self)
        part = find_optional(COMPAT, "horovod")
        if part is None:
            return None
        part.stand_in()
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It is complete."""


def optional_parts(group: str) -> Iterator[ModuleType]:
    """Every part of the group that this image has, in the order of names."""
    for name in sorted(declared_modules(group)):
        found = find_optional(group, name)
        if found is not None:
            yield found


@functools.cache
def declared_modules(group: str) -> Mapping[str, str]:
    """Modules by name. Entry points add to the table, and replace what has the same name."""
    return {**BUILT_IN.get(group, {}), **{point.name: point.module for point in entry_points(group=group)}}
