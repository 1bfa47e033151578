# SPDX-License-Identifier: Apache-2.0
"""Small files of every format, sound and unsound, as bytes."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image


def npz(n: int = 12) -> bytes:
    out = io.BytesIO()
    np.savez(out, x=np.arange(n * 4, dtype=np.float32).reshape(n, 4), y=np.arange(n) % 3)
    return out.getvalue()


def csv(n: int = 12) -> bytes:
    return b"width,height,species\n" + b"".join(b"%d,%d,s%d\n" % (i, i * i, i % 2) for i in range(n))


def json_lines(n: int = 12) -> bytes:
    return b"".join(b'{"width": %d, "height": %d, "species": "s%d"}\n' % (i, i * i, i % 2) for i in range(n))


def customers(n: int = 60) -> bytes:
    """An ordinary table: an identifier, dates, categories, numbers with gaps and a question mark, a constant."""
    lines = ["customer_id,signup,city,age,income,source,churned"]
    for i in range(n):
        age = "?" if i % 15 == 1 else str(20 + i % 50)
        income = "" if i % 3 == 0 else str(1000.5 + 10 * i)
        day = f"{1 + i % 12:02}/{1 + i % 28:02}/{2020 + i % 4}"
        lines.append(f"{1000 + i},{day},{'Rome' if i % 2 else 'Oslo'},{age},{income},web,{'yes' if i % 2 else 'no'}")
    return "\n".join(lines).encode() + b"\n"


def sales(n: int = 60) -> bytes:
    """A table as a spreadsheet in Germany writes it: semicolons, a decimal comma, dates, identifiers and gaps."""
    lines = ["Nummer;Datum;Umsatz;Menge;Storno"]
    for i in range(n):
        amount = "" if i % 9 == 0 else "k. A." if i % 20 == 1 else f"{1 + i}.{100 + i},5"
        lines.append(
            f"R{1000 + i};{1 + i % 28:02}.0{1 + i % 9}.2024;{amount};{i % 7}.{200 + i};{'ja' if i % 2 else 'nein'}"
        )
    return "\ufeff".encode() + "\r\n".join(lines).encode() + b"\r\n"


def parquet(n: int = 12) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": np.arange(float(n)), "y": np.linspace(0, 1, n)}), out)
    return out.getvalue()


def text() -> bytes:
    return b"to be or not to be, that is the question\n" * 10


def images() -> bytes:
    return zipped({f"{label}/{i}.png": png(i) for label in ("cat", "dog") for i in range(3)})


def shard(n: int = 6, *, first: int = 0) -> bytes:
    """A tar of samples of two classes, in the layout of WebDataset."""
    members: dict[str, bytes] = {}
    for i in range(first, first + n):
        members |= {f"{i:04}.png": png(i % 6), f"{i:04}.cls": b"%d" % (i % 2)}
    return tarred(members)


def shard_of(*described: dict[str, Any]) -> bytes:
    """A tar of pictures, each described by JSON."""
    members: dict[str, bytes] = {}
    for i, each in enumerate(described):
        members |= {f"{i:04}.png": png(i % 6), f"{i:04}.json": json.dumps(each).encode()}
    return tarred(members)


def reviews(n: int = 40, **more: Any) -> bytes:
    """Texts with a label each, one object a line."""
    rows = [
        {"text": f"A {('dull', 'fine')[i % 2]} film, number {i}.", "label": ("bad", "good")[i % 2]} for i in range(n)
    ]
    return b"".join(json.dumps({**row, **more}).encode() + b"\n" for row in rows)


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def png(shade: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (8, 8), 40 * shade).save(out, "PNG")
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def form(filename: str, content: bytes, **fields: Any) -> dict[str, Any]:
    """The body of a multipart upload; None leaves a field out."""
    given = {key: str(value) for key, value in fields.items() if value is not None}
    return {"file": SimpleUploadedFile(filename, content), **given}
