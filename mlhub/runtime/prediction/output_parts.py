# SPDX-License-Identifier: Apache-2.0
"""The output of a prediction in parts, in the job's folder: a part is whole or absent, whichever worker wrote it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

PartArrays = Mapping[str, NDArray[Any]]


class OutputParts:
    """Parts are numbered from 0 to n - 1; each is a dictionary of arrays."""

    def __init__(self, folder: Path, n: int, *, writer: str) -> None:
        """writer: a name for this writer's unfinished files."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.n, self._writer = folder, n, writer

    def complete(self) -> set[int]:
        """The numbers of the parts that are whole."""
        found = {int(path.stem.removeprefix("part-")) for path in self._folder.glob("part-*.npz")}
        return {index for index in found if index < self.n}

    def has(self, index: int) -> bool:
        return self._path(index).exists()

    def write(self, index: int, arrays: PartArrays) -> None:
        aside = self._folder / f"{self._writer}.tmp"
        with aside.open("wb") as file:
            save_arrays(file, arrays)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(self._path(index))

    def read(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yields the arrays of every part, in order of the parts."""
        for index in range(self.n):
            with np.load(self._path(index), allow_pickle=False) as part:
                yield {name: part[name] for name in part.files}

    def _path(self, index: int) -> Path:
        return self._folder / f"part-{index:09}.npz"


def save_arrays(file: BinaryIO, arrays: PartArrays) -> None:
    """Writes an npz archive as numpy.savez does; arrays may have any name, also one of its parameters."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def part_order(n: int, *, rank: int, n_workers: int) -> list[int]:
    """The order in which a worker visits parts: its own, then a share of the others', then all of the others'.

    The shares keep workers that help from computing the same parts; the last pass makes sure that none is missing.
    """
    own = list(range(rank, n, n_workers))
    rest = [index for index in range(n - 1, -1, -1) if index % n_workers != rank]
    return [*own, *rest[rank::n_workers], *rest]
