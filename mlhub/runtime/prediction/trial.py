# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime.prediction.trial: keeps a trained model in memory and predicts the rows of each request.

Runs in the sandbox. It reads requests {"rows": [...]} from a FIFO, one a line, and writes an answer for each to its
output: {"ok": true, "predictions": [...]} or {"ok": false, "error": {code, field, message, remedy}}. The first answer,
which no request asks for, reports whether the model could be loaded. What its code prints goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from mlhub.runtime.data import archives
from mlhub.runtime.environments.layer import use_layer
from mlhub.runtime.errors import BadInputError, describe_error


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.runtime.prediction.trial")
    parser.add_argument("--folder", type=Path, required=True, help="with model.json and preprocessing.json")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--package", type=Path, help="the zip of the model's code; a built-in model's is in the folder")
    parser.add_argument("--environment", type=Path, help="the layer of packages that the code requires")
    parser.add_argument("requests", type=Path)
    asked = parser.parse_args()
    answer_to = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            model = _model(asked, Path(scratch))
        except Exception as error:
            traceback.print_exc()
            _write(answer_to, {"ok": False, "error": _problem(error)})
            return 1
        _write(answer_to, {"ok": True})
        with asked.requests.open(encoding="utf-8") as requests:
            for line in requests:
                _write(answer_to, _answer(model, json.loads(line)))
    return 0


def _model(asked: argparse.Namespace, scratch: Path) -> Any:
    if asked.environment is not None:  # before anything that it may replace is imported
        use_layer(asked.environment, scratch / "packages")
    from mlhub.runtime.exported_model.model import ExportedModel

    code = asked.folder / "code"
    if asked.package is not None:
        code = scratch / "code"
        archives.extract(asked.package, code)
    return ExportedModel(asked.folder, code=code, weights=asked.weights)


def _answer(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"ok": True, "predictions": model.predict(request["rows"])}
    except Exception as error:
        return {"ok": False, "error": _problem(error)}


def _problem(error: Exception) -> dict[str, str]:
    from mlhub.runtime.exported_model.errors import UnusableRowError

    if isinstance(error, UnusableRowError):
        return {"code": "unusable_row", "field": error.field, "message": error.message, "remedy": error.remedy}
    if isinstance(error, BadInputError):
        return error.as_dict()
    remedy = "Correct the model's code, train it again, and try that version."
    return {"code": "user_code", "field": "", "message": describe_error(error)[:2000], "remedy": remedy}


def _write(to: Any, answer: dict[str, Any]) -> None:
    json.dump(answer, to)
    to.write("\n")
    to.flush()


if __name__ == "__main__":
    sys.exit(main())
