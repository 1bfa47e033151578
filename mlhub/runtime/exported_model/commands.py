# SPDX-License-Identifier: Apache-2.0
"""python predict.py FILE ...: prints predictions for the rows of files as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .columns.row_files import with_row_renamed
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
        rows = []
        for path in asked.files:
            found = read_rows(path)
            if not found:
                raise UnusableRowError(f"{path.name} has no rows.", field="file", remedy="Give at least one.")
            sources += [(path, number, len(found)) for number in range(len(found))]
            rows += found
        text = json.dumps(ExportedModel(folder).predict(rows), ensure_ascii=False)
    except UnusableRowError as error:
        print(f"predict.py: {_in_file(str(error), sources)}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"predict.py: {error.filename} cannot be read: {error.strerror}.", file=sys.stderr)
        return 1
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
