# SPDX-License-Identifier: Apache-2.0
"""python predict.py FILE ...: prints predictions for the rows of files as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .columns.row_files import unseen_categories, with_row_renamed
from .errors import UnusableRowError
from .inputs import read_rows
from .model import ExportedModel


def predict(folder: Path, argv: Sequence[str] | None = None) -> int:
    """Prints a list with a prediction for each row. Returns the exit status: 1 for inputs that cannot be used."""
    parser = argparse.ArgumentParser(prog="predict.py", description="Predict with an exported model.")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        help="CSV, JSON (a row or a list of rows), JSON lines, Parquet, images, audio, or texts",
    )
    parser.add_argument("--output", type=Path, help="the file to write, instead of printing")
    asked = parser.parse_args(argv)
    sources: list[tuple[Path, int, int]] = []
    try:
        rows: list[Any] = []
        for path in asked.files:
            of_file = read_rows(path)
            if not of_file:
                raise UnusableRowError(f"{path.name} has no rows.", field="file", remedy="Give at least one.")
            sources += [(path, number, len(of_file)) for number in range(len(of_file))]
            rows += of_file
        found = ExportedModel(folder).predict(rows)
    except UnusableRowError as error:
        print(f"predict.py: {_in_file(str(error), sources)}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"predict.py: {error.filename} cannot be read: {error.strerror}.", file=sys.stderr)
        return 1
    for sentence in unseen_categories(found):
        print(f"predict.py: warning: {_in_file(sentence, sources)}", file=sys.stderr)
    text = json.dumps(found, ensure_ascii=False)
    if asked.output is None:
        print(text)
    else:
        asked.output.write_text(text + "\n", encoding="utf-8")
    return 0


def _in_file(message: str, sources: Sequence[tuple[Path, int, int]]) -> str:
    """The message with the file in place of the row's number among all of them. sources: of each row its file, its
    number there, and how many rows the file has."""

    def place(word: str, row: int) -> str | None:
        if row >= len(sources):
            return None
        path, number, n_rows = sources[row]
        return path.name if n_rows == 1 and word == "Row" else f"{word} {number} of {path.name}"

    return with_row_renamed(message, place)
