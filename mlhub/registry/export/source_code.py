# SPDX-License-Identifier: Apache-2.0
"""The code of an export: of built-in models and of the program that predicts, without any import from mlhub."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from mlhub.runtime import exported_model
from mlhub.runtime.model import builtin

PROGRAM = Path(exported_model.__file__).parent
# modules of the program that only import others: an export carries those others
CARRIED = {
    "columns/number_formats.py": "mlhub.wire.number_formats",
    "columns/row_files.py": "mlhub.wire.row_files",
    "columns/text_encodings.py": "mlhub.wire.text_encodings",
    "audio/signal.py": "mlhub.runtime.data.readers.audio.signal",
    "columns/encoding.py": "mlhub.runtime.data.readers.tables.encoding",
    "tokens.py": "mlhub.runtime.data.readers.tokens",
    "normalisation.py": "mlhub.runtime.data.normalisation",
    "ensemble.py": "mlhub.runtime.model.ensemble",
}
IMPORTS_MLHUB = re.compile(r"^[ \t]*(?:from|import)[ \t]+mlhub\b", re.MULTILINE)
ERROR_IMPORT, BUILTIN_IMPORT = (
    "from mlhub.runtime.errors import BadInputError\n",
    "from mlhub.runtime.model import builtin\n",
)
ERROR_CLASS = '''

class BadInputError(ValueError):
    """The model does not fit the dataset."""

    def __init__(self, message: str, *, field: str, remedy: str) -> None:
        super().__init__(f"{field}: {message} {remedy}")
'''

COMMAND = '''"""{usage}"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))  # python -I leaves it out

try:
    from exported_model.{module} import {name}
except ModuleNotFoundError as error:
    install = f"{{sys.executable}} -m pip install -r {{FOLDER / 'requirements.txt'}}"
    sys.exit(f"{name}.py: The package {{error.name}} is not installed. Run: {{install}}")

if __name__ == "__main__":
    sys.exit({name}(FOLDER))
'''
COMMANDS = {  # name: module of the program, and how it is used
    "predict": ("commands", "python predict.py FILE ...: prints predictions for the rows of files."),
    "serve": ("serving", "python serve.py: predicts over HTTP, for this machine only."),
    "convert": ("conversion", "python convert.py onnx|torch_export FILE: writes the model in another format."),
}


def command_files() -> dict[str, str]:
    """The scripts at the top of an export by their names."""
    return {
        f"{name}.py": COMMAND.format(usage=usage, module=module, name=name)
        for name, (module, usage) in COMMANDS.items()
    }


def program_files() -> dict[str, str]:
    """The modules of the program by their names within its folder."""
    names = sorted(path.relative_to(PROGRAM).as_posix() for path in PROGRAM.rglob("*.py"))
    return {name: _plain(_source(CARRIED[name])) if name in CARRIED else _plain(PROGRAM / name) for name in names}


def builtin_source(entry: str) -> str:
    """The module of a built-in model, with its hyperparameters and its error written out."""
    source = _source(f"{builtin.__name__}.{entry}").read_text(encoding="utf-8")
    declared = f'HYPERPARAMETERS = builtin.HYPERPARAMETERS["{entry}"]\n'
    has_error = ERROR_IMPORT in source
    source = source.replace(ERROR_IMPORT, "").replace(BUILTIN_IMPORT, "")
    written_out = f"HYPERPARAMETERS = {builtin.HYPERPARAMETERS[entry]!r}\n" + ERROR_CLASS * has_error
    return _checked(source.replace(declared, written_out), entry)


def _plain(path: Path) -> str:
    return _checked(path.read_text(encoding="utf-8"), path.name)


def _checked(source: str, name: str) -> str:
    if IMPORTS_MLHUB.search(source):
        raise AssertionError(f"{name} imports mlhub, so that it cannot be exported.")
    return source


def _source(module: str) -> Path:
    """The file of a module, which is not imported: it may need torch."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)
