"""OutputParts of a prediction in the job's folder: each whole or not there, the same whoever wrote it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


class OutputParts:
    """Numbered from 0 to n - 1. What is kept is a dictionary of arrays, or of numbers."""

    def __init__(self, folder: Path, n: int, *, writer: str) -> None:
        """writer: names whose files not yet whole are which."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.n, self._writer = folder, n, writer

    def there(self) -> set[int]:
        """Numbers of the parts that are whole."""
        found = {int(path.stem.removeprefix("part-")) for path in self._folder.glob("part-*.npz")}
        return {index for index in found if index < self.n}

    def has(self, index: int) -> bool:
        return self._path(index).exists()

    def write(self, index: int, arrays: Arrays) -> None:
        aside = self._folder / f"{self._writer}.tmp"
        with aside.open("wb") as file:
            save_arrays(file, arrays)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(self._path(index))

    def read(self) -> Iterator[dict[str, NDArray[Any]]]:
        """All of them, in order."""
        for index in range(self.n):
            with np.load(self._path(index), allow_pickle=False) as part:
                yield {name: part[name] for name in part.files}

    def _path(self, index: int) -> Path:
        return self._folder / f"part-{index:09}.npz"


def save_arrays(file: BinaryIO, arrays: Arrays) -> None:
    """As numpy.savez does, whatever the arrays are called."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def part_order(n: int, *, rank: int, n_workers: int) -> list[int]:
    """Which parts a worker looks at, one after the other: its own; a share of everybody's, so that those who help do
    not all take the same; at last every one, so that whoever is done knows that all is."""
    own = list(range(rank, n, n_workers))
    rest = [index for index in range(n - 1, -1, -1) if index % n_workers != rank]
    return [*own, *rest[rank::n_workers], *rest]
