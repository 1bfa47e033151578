# SPDX-License-Identifier: Apache-2.0
"""Rows as people give them (JSON, or files) as the tensors that the model was trained on, by the dataset's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import images, tables
from .audio import clips
from .columns.row_files import rows_in
from .errors import UnusableRowError
from .tokens import first_tokens, from_json

TABLES = ("csv", "parquet", "json_lines")  # those of wire/formats.py, of which exports carry no copy
PICTURES, AUDIO, TEXTS = ("image_folder", "webdataset"), ("audio_folder",), ("text", "text_lines")


class InputReader:
    """about: what preprocessing.json holds: format, facts, and of tables the columns."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.format: str = about["format"]
        self.columns: Sequence[Mapping[str, Any]] = about.get("columns", ())
        self.facts: Mapping[str, Any] = about["facts"]
        self._dtype = str(about.get("dtype") or "float32")
        self._shape = [int(n) for n in self.facts.get("input_shape", ())]
        self.tokenizer = from_json(self.facts.get("tokenizer")) if self.format in TEXTS else None

    @property
    def takes_integers(self) -> bool:
        """Whether inputs are whole numbers, such as tokens or categories."""
        is_pixels = self._dtype == "uint8" and len(self._shape) > 1
        return self.format in TEXTS or (self.format == "npz" and not self._dtype.startswith("float") and not is_pixels)

    def described(self) -> dict[str, Any]:
        """What a row is made of, for people: columns of tables, the shape of others, the classes."""
        shown = ("name", "kind", "categories", "format", "formats", "number_format")
        columns = [{name: column[name] for name in shown if name in column} for column in self.columns]
        known = {
            name: self.facts[name] for name in ("task", "classes", "input_shape", "sample_rate") if name in self.facts
        }
        return {"format": self.format, "columns": columns, **known}

    def tensors(self, rows: Sequence[Any]) -> Iterable[Tensor]:
        """Returns batches of inputs, together in the order of the rows. Raises UnusableRowError.

        A row is an object of columns (tables), {"image": base64}, {"audio": base64}, {"x": numbers}, or
        {"text": string}. Texts have a batch each, since their lengths differ.
        """
        if not rows:
            raise UnusableRowError("There are no rows.", field="rows", remedy="Give at least one.")
        if self.format in TABLES:
            return tables.encoded_batches(rows, self.columns)
        if self.tokenizer is not None:
            return [self._tokens(number, row) for number, row in enumerate(rows)]
        return [torch.stack([self._array(number, row) for number, row in enumerate(rows)])]

    def unseen(self, rows: Sequence[Any]) -> list[dict[str, str]]:
        """Of each row of a table the categories that training did not see, by their column; else nothing.

        rows: those that tensors() takes.
        """
        return tables.unseen_words(rows, self.columns) if self.format in TABLES else []

    def _tokens(self, number: int, row: Any) -> Tensor:
        """Shape (1, length): the first tokens of a text to classify, as in training; of one to go on with the last that
        the model can read at once."""
        assert self.tokenizer is not None
        text = row.get("text") if isinstance(row, Mapping) else row
        if not isinstance(text, str) or not text:
            raise UnusableRowError(f"Row {number} has no text.", field="text", remedy='Give {"text": "..."}.')
        if self.facts.get("task") != "language_modelling":
            found = first_tokens(self.tokenizer, text, int(self.facts["context_length"]))
            return torch.from_numpy(found.astype("int64"))[None]
        tokens = [int(token) for token in self.tokenizer.encode(text)]
        return torch.tensor([tokens[-int(self.facts["context_length"]) :]], dtype=torch.int64)

    def _array(self, number: int, row: Any) -> Tensor:
        image = row.get("image") if isinstance(row, Mapping) else None
        if image is not None or self.format in PICTURES:
            if not images.is_image_shape(self._shape):
                raise UnusableRowError(f"The model takes the shape {self._shape}, no images.", field="image")
            if image is None:
                raise UnusableRowError(f"Row {number} has no image.", field="image", remedy='Give {"image": base64}.')
            return images.encoded_image(number, image, self._shape)
        if self.format in AUDIO:
            audio = row.get("audio") if isinstance(row, Mapping) else None
            if audio is None:
                raise UnusableRowError(f"Row {number} has no audio.", field="audio", remedy='Give {"audio": base64}.')
            return clips.encoded_clip(number, audio, self._shape, int(self.facts["sample_rate"]))
        return self._numbers(number, row.get("x") if isinstance(row, Mapping) else row)

    def _numbers(self, number: int, values: Any) -> Tensor:
        is_float = self._dtype.startswith("float")
        try:
            found = torch.tensor(values, dtype=torch.float32 if is_float else torch.int64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UnusableRowError(
                f"Row {number} is no array of numbers.", field="x", remedy=f"Give the shape {self._shape}."
            ) from error
        found = found.reshape(1) if found.dim() == 0 else found
        if list(found.shape) != self._shape:
            raise UnusableRowError(
                f"Row {number} has the shape {list(found.shape)}.", field="x", remedy=f"Give the shape {self._shape}."
            )
        is_pixels = self._dtype == "uint8" and len(self._shape) > 1
        return found.float() / 255.0 if is_pixels else found


def read_rows(path: Path) -> list[Any]:
    """The rows of a file: CSV, JSON (a row or a list of rows), JSON lines, Parquet, an image, audio, or a text.

    Raises UnusableRowError.
    """
    suffix = path.suffix.lower()
    if suffix in images.SUFFIXES:
        return [{"image": path.read_bytes()}]
    if suffix in clips.SUFFIXES:
        return [{"audio": path.read_bytes()}]
    try:
        rows = rows_in(path)
    except UnicodeDecodeError as error:
        raise UnusableRowError(
            f"{path.name} is not UTF-8: {error.reason} at byte {error.start}.",
            field="file",
            remedy="Save it as UTF-8.",
        ) from error
    except ValueError as error:
        raise UnusableRowError(
            f"{path.name} cannot be read: {error}.", field="file", remedy="Correct it, or save the rows as CSV."
        ) from error
    if rows is None:
        raise UnusableRowError(
            f"{path.name} has a suffix that is not known.",
            field="file",
            remedy="Give .csv, .json, .jsonl, .parquet, .txt, an image, or audio.",
        )
    return rows
