# SPDX-License-Identifier: Apache-2.0
"""Files and folders as uploads: a folder becomes a zip that is the same for the same content."""

from __future__ import annotations

import ast
import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mlhub.cli.failures import CommandError
from mlhub.wire.code_entry import usual_entry

LEFT_OUT = {"__pycache__", "node_modules", "venv", "env"}  # and everything hidden, such as .git and .venv
EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's own first moment: the time of a file is no content
PYTHON = {".py", ".txt", ".toml", ".lock", ".yaml", ".yml", ".json", ".jsonl"}  # what travels with a single script
MAX_SCRIPT_FOLDER_BYTES = 4 * 2**20
SHARD = ".tar"  # pods read single samples of it where it lies
USUAL_NAMES = {"train", "main", "model", "run", "app", "script"}  # of files: they tell no project from another
DECLARING = ("uv.lock", "requirements.txt")  # files by which code declares packages, but for pyproject.toml
PIECE = 2**20


@dataclass(frozen=True)
class Packed:
    """path: the file to send, under filename. digest: SHA-256 of its content."""

    path: Path
    filename: str
    digest: str

    @property
    def size_bytes(self) -> int:
        return self.path.stat().st_size


@dataclass(frozen=True)
class Code:
    """kind: package or script. entry: its module or script, "" for the platform's default. name: of its model;
    file_name: of the file without .py, where it is named by its folder all the same. left_out: files of a single
    script's folder that do not travel with it, since they are neither code nor text."""

    files: list[tuple[Path, str]]
    kind: str
    entry: str
    name: str
    file_name: str = ""
    left_out: tuple[Path, ...] = ()


@contextmanager
def packed(path: Path) -> Iterator[Packed]:
    """A file as it is, a folder as a zip. Raises CommandError when it is not there or empty."""
    if path.is_file():
        yield Packed(path, path.name, _sha256(path))
        return
    files = list(files_in(path))
    if not files:
        raise CommandError(f"{path} has no files." if path.is_dir() else f"There is no file or folder {path}.")
    with zipped(files, f"{path.resolve().name}.zip") as found:
        yield found


@contextmanager
def zipped(files: list[tuple[Path, str]], filename: str) -> Iterator[Packed]:
    """files: paths, with their names in the zip."""
    with TemporaryDirectory(prefix="mlhub-") as folder:
        target = Path(folder) / "upload.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for source, name in sorted(files, key=lambda item: item[1]):
                entry = zipfile.ZipInfo(name, EPOCH)
                is_shard = name.lower().endswith(SHARD)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_STORED if is_shard else zipfile.ZIP_DEFLATED
                with source.open("rb") as file, archive.open(entry, "w") as out:
                    while piece := file.read(PIECE):
                        out.write(piece)
        yield Packed(target, filename, _sha256(target))


def code(path: Path, entry: str, requirements: Path | None = None) -> Code:
    """A folder, or a Python file with the small text files of its folder. Raises CommandError.

    requirements: a file of packages that takes the place of those that the code declares.

    A module with a function build_model is a package; any other is a script. Its name is that of the folder, or of a
    file whose name is not such as train.py, which every project has.
    """
    if path.is_dir():
        files = list(files_in(path))
        first = entry or usual_entry(path)
        if not first:
            raise CommandError(
                f"{path} has neither model.py, train.py nor main.py.", remedy="Name the script: --entry."
            )
        left_out: tuple[Path, ...] = ()
    else:
        (files, left_out), first = _script_files(path), path.name
    script = path / first if path.is_dir() else path
    if not script.is_file():
        raise CommandError(f"There is no file {script}.")
    kind = "package" if _has_build_model(script) else "script"
    module = first.removesuffix(".py").replace("/", ".")
    name, file_name = _names(path)
    if requirements is not None:
        files = _with_requirements(files, requirements, near=first.rpartition("/")[0] if kind == "script" else "")
    return Code(files, kind, module if kind == "package" else first, name, file_name, left_out)


def _with_requirements(files: list[tuple[Path, str]], given: Path, *, near: str) -> list[tuple[Path, str]]:
    """The files with the given one where requirements are looked for first, and without those it stands for."""
    if not given.is_file():
        raise CommandError(f"There is no file {given}.", remedy="Name a requirements.txt with --requirements.")
    folder = f"{near}/" if near else ""
    replaced = {f"{folder}{name}" for name in DECLARING}
    return [*(item for item in files if item[1] not in replaced), (given, f"{folder}requirements.txt")]


def _names(path: Path) -> tuple[str, str]:
    """The name of the model, and that of the file where it is another one."""
    full = path.resolve()
    if full.is_dir():
        return full.name[:100], ""
    if full.stem in USUAL_NAMES and full.parent.name:
        return full.parent.name[:100], full.stem
    return full.stem[:100], ""


def _script_files(path: Path) -> tuple[list[tuple[Path, str]], tuple[Path, ...]]:
    """Those that travel with a script, itself among them, and the others of its folder."""
    if not path.is_file():
        raise CommandError(f"There is no file or folder {path}.")
    others = [(file, name) for file, name in files_in(path.parent) if file.resolve() != path.resolve()]
    neighbours = [(file, name) for file, name in others if file.suffix in PYTHON]
    if sum(file.stat().st_size for file, _ in neighbours) > MAX_SCRIPT_FOLDER_BYTES:
        raise CommandError(
            f"{path.resolve().parent} has more than {MAX_SCRIPT_FOLDER_BYTES // 2**20} MiB of code and text.",
            remedy="Move the script with what it imports into a folder, and name that folder and --entry.",
        )
    left_out = tuple(file for file, _ in others if file.suffix not in PYTHON)
    return [(path, path.name), *neighbours], left_out


def files_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder, with their names in a zip, but for hidden ones, caches and environments."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") or part in LEFT_OUT for part in parts):
            yield path, "/".join(parts)


def _has_build_model(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise CommandError(f"{path} is no Python: {error}.") from error
    return any(isinstance(node, ast.FunctionDef) and node.name == "build_model" for node in tree.body)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
