# SPDX-License-Identifier: Apache-2.0
"""python predict.py FILE ...: prints predictions for the rows of files as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import UnusableRowError
from .inputs import read_rows
from .model import ExportedModel


def predict(folder: Path, argv: Sequence[str] | None = None) -> int:
    """Prints a list with a prediction for each row. Returns the exit status: 1 for inputs that cannot be used."""
    parser = argparse.ArgumentParser(prog="predict.py", description="Predict with an exported model.")
    parser.add_argument(
        "files", nargs="+", type=Path, help="CSV, JSON (a row or a list of rows), JSON lines, images, audio, or texts"
    )
    parser.add_argument("--output", type=Path, help="the file to write, instead of printing")
    asked = parser.parse_args(argv)
    try:
        rows = [row for path in asked.files for row in read_rows(path)]
        text = json.dumps(ExportedModel(folder).predict(rows), ensure_ascii=False)
    except (UnusableRowError, OSError) as error:
        print(f"predict.py: {error}", file=sys.stderr)
        return 1
    if asked.output is None:
        print(text)
    else:
        asked.output.write_text(text + "\n", encoding="utf-8")
    return 0
