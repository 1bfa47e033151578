# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.runtime.inspection.inspect dataset|model|preflight ...: what is in an upload, and would this job run?

Meant to be run in the sandbox. Writes one JSON object to standard output: {"ok": true, ...what was found} or
{"ok": false, "error": {code, field, message, remedy, traceback?}}. What the inspected code prints goes to stderr.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlhub.runtime.data import archives
from mlhub.runtime.data.shard_folders import link_shards
from mlhub.runtime.environments.image import declared_image
from mlhub.runtime.environments.layer import use_layer
from mlhub.runtime.environments.requirements import declared_requirements
from mlhub.runtime.errors import BadInputError, classify, describe_error
from mlhub.runtime.model.hyperparameters import moved_hints
from mlhub.runtime.scripts.arguments import declared, only_options, own_counts
from mlhub.runtime.scripts.distribution import ALONE, may_be_distributed
from mlhub.wire.code_entry import kind_and_entry
from mlhub.wire.exits import Cause
from mlhub.wire.launch import PodSpec


def dataset(arguments: argparse.Namespace) -> dict[str, Any]:
    from mlhub.runtime.data import readers

    with tempfile.TemporaryDirectory() as folder:
        path = arguments.path
        if arguments.shard:
            path = link_shards({name: Path(of) for name, of in arguments.shard}, Path(folder))
        return asdict(readers.inspect(arguments.format, path, json.loads(arguments.options)))


def model(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as packages:
        code = Path(folder)
        names = archives.extract(arguments.path, code)
        kind, entry = (arguments.kind, arguments.entry) if arguments.entry else kind_and_entry(code)
        near = Path(entry).parent.as_posix() if kind == "script" else ""
        found_out = {} if arguments.entry else {"kind": kind, "entry": entry}
        if not arguments.is_image_known and (image := declared_image(code, folder=near)):
            return {"image": image}  # whether it may is asked before anything is built or imported
        if not arguments.is_environment_ready:
            required = declared_requirements(code, folder=near)
            if required is not None:  # nothing is imported before what it requires is there
                return {"requirements": list(required.lines), "origin": required.origin}
        if arguments.environment is not None:
            use_layer(arguments.environment, Path(packages))
        if kind == "script":
            return {"files": names[:200], "functions": [], **_script(code, entry), **found_out}
        from mlhub.runtime.model import initial_weights
        from mlhub.runtime.model.packages import OPTIONAL, find_module

        module = find_module("package", entry, arguments.path, code=code / "package")
        initial_weights.given(module, code / "package")
        functions = ["build_model", *(name for name in OPTIONAL if hasattr(module, name))]
        own = getattr(module, "HYPERPARAMETERS", {})
        hints = moved_hints(own if isinstance(own, dict) else {})
        description = (module.__doc__ or "").strip()[:500]
        found = {"files": names[:200], "functions": functions, "description": description, "hints": hints}
        return {**found, **found_out}


def preflight(arguments: argparse.Namespace) -> dict[str, Any]:
    spec = PodSpec.from_json(arguments.spec.read_text())
    given = dict(arguments.blob)
    inputs = {item.name: Path(given.get(item.sha256) or item.uri.removeprefix("file://")) for item in spec.inputs}
    os.environ.update(spec.variables | dict.fromkeys(spec.secret_names, ""))  # the names of secrets, not their values
    with tempfile.TemporaryDirectory() as folder:
        if spec.model.environment is not None:  # before anything that it may replace is imported
            use_layer(inputs[spec.model.environment], Path(folder) / "packages")
        if spec.prediction is None:
            from mlhub.runtime.inspection.dry_run import try_out
        else:
            from mlhub.runtime.prediction.dry_run import dry_run_prediction as try_out
        return {"profile": try_out(spec, inputs, code=Path(folder) / "code")}


def _script(code: Path, entry: str) -> dict[str, Any]:
    path = code / entry
    if not path.is_file():
        raise BadInputError(
            f"There is no {entry} in the archive.", field="entry", remedy="Name the script as it is in the zip."
        )
    try:
        tree = ast.parse(path.read_text())
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        raise BadInputError(f"{entry} is not valid Python: {error}", field="file", remedy="Correct it.") from error
    options = declared(path)
    hints, is_distributed = moved_hints(options), may_be_distributed(code)
    return {
        "description": (ast.get_docstring(tree) or "")[:500],
        "hints": hints if is_distributed else [*hints, ALONE],
        "is_distributed": is_distributed,
        "own_counts": own_counts(options),
        "only_options": only_options(path, code=code),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.runtime.inspection.inspect")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("dataset")
    one.add_argument("--format", required=True)
    given = one.add_mutually_exclusive_group(required=True)
    given.add_argument("--path", type=Path)
    given.add_argument("--shard", nargs=2, action="append", default=[], metavar=("NAME", "PATH"))
    one.add_argument("--options", default="{}")
    one = commands.add_parser("model")
    one.add_argument("--path", type=Path, required=True)
    one.add_argument("--kind", required=True)
    one.add_argument("--entry", required=True, help="empty: it and the kind are found out from the files")
    one.add_argument("--is-image-known", action="store_true", help="the image that it brings may be used")
    one.add_argument("--is-environment-ready", action="store_true", help="what it requires is there")
    one.add_argument("--environment", type=Path, help="the layer of packages that it requires")
    one = commands.add_parser("preflight")
    one.add_argument("--spec", type=Path, required=True)
    one.add_argument("--blob", nargs=2, action="append", default=[], metavar=("SHA256", "PATH"))
    arguments = parser.parse_args()
    commands_by_name: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
        "dataset": dataset,
        "model": model,
        "preflight": preflight,
    }
    answer_to = os.dup(1)
    os.dup2(2, 1)  # the inspected code may print what it likes
    try:
        answer = {"ok": True, **commands_by_name[arguments.command](arguments)}
    except BaseException as error:
        answer = {"ok": False, "error": _problem(error, has_code=arguments.command != "dataset")}
    with os.fdopen(answer_to, "w") as out:
        json.dump(answer, out)
    return 0


def _problem(error: BaseException, *, has_code: bool) -> dict[str, str]:
    """With where it happened, when code that is not ours had a part in it. has_code: code was inspected, not a file."""
    where = {"traceback": traceback.format_exc()[-16_000:]} if has_code else {}
    if isinstance(error, BadInputError):
        return {**error.as_dict(), **(where if error.__cause__ is not None else {})}
    _, cause = classify(error)
    if cause is Cause.OUT_OF_MEMORY:
        remedy = "Use a smaller file or model; trials have less memory than training."
        return {"code": cause, "field": "file", "message": "It does not fit into memory.", "remedy": remedy, **where}
    if cause is Cause.NOT_A_NUMBER:
        remedy = "Lower learning_rate, or check the loss and the dataset for extreme values."
        return {"code": cause, "field": "loss", "message": str(error), "remedy": remedy}
    if not has_code:
        remedy = "Check that the file is whole, and write it again; if that does not help, ask an administrator."
        message = f"The file cannot be read: {describe_error(error)[:2000]}"
        return {"code": "invalid_file", "field": "file", "message": message, "remedy": remedy}
    remedy = "Correct the code and upload it again."
    return {"code": "user_code", "field": "file", "message": describe_error(error)[:2000], "remedy": remedy, **where}


if __name__ == "__main__":
    sys.exit(main())
