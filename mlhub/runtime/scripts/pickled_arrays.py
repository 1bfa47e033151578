# SPDX-License-Identifier: Apache-2.0
"""Fitted arrays of a pickled model, as scikit-learn, joblib and pickle leave it, read without running code from it.

The pickle's classes become inert records of their attributes. Arrays are the only objects that are made, so a file that
a script downloaded is as harmless as one that it wrote.
Source of joblib's form: github.com/joblib/joblib, joblib/numpy_pickle.py.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

SUFFIXES = (".joblib", ".pkl", ".pickle")
MAX_DEPTH = 12  # of objects within objects
MAX_ARRAYS = 10_000
BUILTINS = {
    each.__name__: each for each in (set, frozenset, list, dict, tuple, int, float, complex, bytearray, slice, range)
}
ARRAY_MODULES = ("numpy", *(f"numpy.{core}.{part}" for core in ("core", "_core") for part in ("multiarray", "numeric")))
ARRAY_NAMES = ("ndarray", "dtype", "_reconstruct", "scalar", "_frombuffer")
JOBLIB_ARRAY = ("joblib.numpy_pickle", "NumpyArrayWrapper")


class PickledRecord:
    """Stands for an object of any class: its attributes are in its __dict__, what it is called with is ignored."""

    origin: tuple[str, str] = ("", "")  # module and name of the class

    def __new__(cls, *_: Any, **__: Any) -> PickledRecord:
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setitem__(self, *_: Any) -> None: ...

    def append(self, *_: Any) -> None: ...

    def extend(self, *_: Any) -> None: ...

    def add(self, *_: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
            state = {**(state[0] if isinstance(state[0], dict) else {}), **state[1]}
        if isinstance(state, dict):
            self.__dict__.update({str(name): value for name, value in state.items()})


class _ArrayUnpickler(pickle._Unpickler):  # the one in Python, whose opcodes can be extended
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._file = file

    def find_class(self, module: str, name: str) -> Any:
        if module in ("builtins", "__builtin__") and name in BUILTINS:
            return BUILTINS[name]
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module in ARRAY_MODULES and name in ARRAY_NAMES:
            return super().find_class(module, name)
        return type(name, (PickledRecord,), {"origin": (module, name)})

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError(f"It names {pid!r}, which is outside of the file.")

    def _load_build(self) -> None:
        """BUILD, and the bytes of an array that joblib writes behind the description of it."""
        pickle._Unpickler.load_build(self)  # type: ignore[attr-defined]
        built = self.stack[-1]  # type: ignore[attr-defined]
        if isinstance(built, PickledRecord) and built.origin == JOBLIB_ARRAY:
            self.stack[-1] = _read_array(self._file, vars(built))  # type: ignore[attr-defined]

    dispatch[pickle.BUILD[0]] = _load_build


def read_pickled_arrays(path: Path) -> tuple[dict[str, np.ndarray[Any, Any]], str, list[Any]]:
    """Arrays by the names of the attributes that hold them (coef_, steps.scaler.mean_), the class of the model, such
    as "sklearn SGDClassifier", and the names of its classes if it has classes_.

    No arrays: the pickle is no fitted model. Raises whatever a damaged file makes the unpickler raise.
    """
    with path.open("rb") as file:
        root = _ArrayUnpickler(_unpacked(file)).load()
    if not isinstance(root, PickledRecord):
        return {}, "", []
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in _arrays_in(root, depth=0):
        if len(arrays) < MAX_ARRAYS:
            arrays[name] = value
    classes = vars(root).get("classes_")
    module, name = root.origin
    if all(each.rpartition(".")[2] == "classes_" for each in arrays):
        return {}, "", []  # names of classes alone are no model
    return arrays, f"{module.split('.')[0]} {name}", classes.tolist() if isinstance(classes, np.ndarray) else []


def _arrays_in(found: Any, *, depth: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Numbers alone: those in attributes whose names end in "_", which is how fitted ones are marked."""
    if depth > MAX_DEPTH:
        return
    for name, value in _parts_of(found):
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "fiub" and (name.endswith("_") or not isinstance(found, PickledRecord)):
                yield name, value
        elif isinstance(value, PickledRecord | dict | list | tuple):
            yield from ((f"{name}.{inner}", array) for inner, array in _arrays_in(value, depth=depth + 1))


def _parts_of(found: Any) -> Iterator[tuple[str, Any]]:
    """Attributes, entries, and elements by their numbers; pairs such as ("scaler", step) by their first."""
    if isinstance(found, PickledRecord):
        yield from vars(found).items()
    elif isinstance(found, dict):
        yield from ((str(key), value) for key, value in found.items())
    else:
        for i, value in enumerate(found):
            is_named = isinstance(value, tuple) and len(value) >= 2 and isinstance(value[0], str)
            yield (value[0], value[1]) if is_named else (str(i), value)


def _read_array(file: Any, about: dict[str, Any]) -> np.ndarray[Any, Any]:
    dtype, shape = np.dtype(about["dtype"]), tuple(about["shape"])
    if dtype.hasobject:  # such as the names of classes: joblib writes a pickle in its place
        found = _ArrayUnpickler(file).load()
        return found if isinstance(found, np.ndarray) else np.empty(0)
    if about.get("numpy_array_alignment_bytes") is not None:
        file.read(file.read(1)[0])
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    array = np.frombuffer(file.read(n_bytes), dtype)
    return array.reshape(shape, order="F" if about.get("order") == "F" else "C").copy()


def _unpacked(file: Any) -> Any:
    """The pickle itself: joblib packs it where it was asked to."""
    first = file.read(6)
    file.seek(0)
    if first.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if first.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if first.startswith((b"\xfd7zXZ", b"\x5d\x00")):
        return lzma.LZMAFile(file)
    if first[:1] == b"x":  # zlib; a pickle of protocol 2 or later begins with 0x80
        return io.BytesIO(zlib.decompress(file.read()))
    return file
