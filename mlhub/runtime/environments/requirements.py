# SPDX-License-Identifier: Apache-2.0
"""Reads which packages uploaded code requires: uv.lock, requirements.txt or pyproject.toml, in this order.

Only names and versions for the platform's own package index are taken. Addresses, options and files elsewhere are
refused, since a build must reach nothing but that index.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from mlhub.runtime.errors import BadInputError

MAX_BYTES = 4 * 2**20
MAX_REQUIREMENTS = 2000
FILES = ("uv.lock", "requirements.txt", "pyproject.toml")
MAX_FILES = 20  # that include each other
INCLUDE = re.compile(r"(?:-r|--requirement)[ =]*([^\s=].*)")
HASH_OPTION = re.compile(r"\s--hash[= ]\S+")
COMMENT = re.compile(r"(^|\s)#.*$")


@dataclass(frozen=True)
class DeclaredRequirements:
    """origin: the file that declares them. lines: one requirement each, without comments, sorted."""

    origin: str
    lines: tuple[str, ...]


def declared_requirements(code: Path, *, folder: str = "") -> DeclaredRequirements | None:
    """Returns what the unpacked code requires; None when it has none of the files, or they name no package.

    folder: of the entry; it is searched first, then the top. Raises BadInputError naming the file and the line.
    """
    for place in dict.fromkeys((folder, "")):
        for name in FILES:
            path = code / place / name
            if not path.is_file():
                continue
            lines = tuple(sorted({line for line in _read(path, name, top=code) if line}))
            if len(lines) > MAX_REQUIREMENTS:
                raise _refusal(name, f"It names {len(lines)} packages; {MAX_REQUIREMENTS} are allowed.", "Name fewer.")
            if lines or name != "pyproject.toml":
                return DeclaredRequirements((Path(place) / name).as_posix(), lines) if lines else None
    return None


def _read(path: Path, name: str, *, top: Path) -> list[str]:
    if name == "requirements.txt":
        return list(_of_requirements(path, top=top, seen=set()))
    text = _text(path, name)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refusal(name, f"It is not valid TOML: {error}.", "Correct it.") from error
    try:
        return _of_lock(table) if name == "uv.lock" else _of_project(table)
    except (KeyError, TypeError, AttributeError) as error:
        raise _refusal(name, f"It has not the form of this file: {error!r}.", "Make it again.") from error


def _text(path: Path, name: str) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise _refusal(name, f"It has more than {MAX_BYTES:,} bytes.", "Leave out what the code does not import.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refusal(name, f"It is not UTF-8: {error}.", "Save it as UTF-8.") from error


def _of_requirements(path: Path, *, top: Path, seen: set[Path]) -> Iterator[str]:
    """Those of the file, and of the files that its lines `-r other.txt` name, each once."""
    name = path.relative_to(top).as_posix()
    seen.add(path)
    joined = _text(path, name).replace("\\\r\n", " ").replace("\\\n", " ")
    for number, raw in enumerate(joined.splitlines(), 1):
        line, where = COMMENT.sub("", raw).strip(), f"{name}, line {number}"
        included = INCLUDE.fullmatch(line)
        if included is not None:
            other = _included(path.parent / included[1], where, top=top)
            if len(seen) == MAX_FILES:
                raise _refusal(where, f"More than {MAX_FILES} files include each other.", "Name packages in fewer.")
            if other not in seen:
                yield from _of_requirements(other, top=top, seen=seen)
        elif line:
            yield _checked(HASH_OPTION.sub("", line).strip(), where)


def _included(path: Path, where: str, *, top: Path) -> Path:
    """The file within the zip. Raises BadInputError."""
    plain = Path(os.path.normpath(path))
    if not plain.is_relative_to(top) or not plain.is_file() or plain.is_symlink():
        raise _refusal(where, f"The zip has no file {path.name!r} there.", "Put it into the zip, next to this file.")
    return plain


def _of_project(table: dict[str, Any]) -> list[str]:
    project = table.get("project", {})
    if "dependencies" in project.get("dynamic", []):
        raise _refusal(
            "pyproject.toml", "Its dependencies are dynamic, which only a build could find out.", "List them there."
        )
    return [_checked(line, "pyproject.toml") for line in project.get("dependencies", [])]


def _of_lock(table: dict[str, Any]) -> list[str]:
    """The exact versions that the project of the lock needs on this platform, by its markers."""
    packages: dict[str, list[dict[str, Any]]] = {}
    for package in table["package"]:
        packages.setdefault(package["name"], []).append(package)
    roots = [p for p in table["package"] if {"virtual", "editable"} & set(p.get("source", {}))]
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(root, "") for root in roots]
    while waiting:
        package, extra = waiting.pop()
        if (key := (f"{package['name']} {package.get('version', '')}", extra)) in seen:
            continue
        seen.add(key)
        needed = package.get("optional-dependencies", {}).get(extra, []) if extra else package.get("dependencies", [])
        for dependency in needed:
            if "marker" in dependency and not Marker(dependency["marker"]).evaluate():
                continue
            chosen = _chosen(packages.get(dependency["name"], []), dependency)
            waiting += [(chosen, name) for name in ("", *dependency.get("extra", []))]
            if chosen not in roots:
                found.add(_locked(chosen))
    return sorted(found)


def _chosen(candidates: list[dict[str, Any]], dependency: dict[str, Any]) -> dict[str, Any]:
    wanted = dependency.get("version")
    for candidate in candidates:
        if wanted is None or candidate.get("version") == wanted:
            return candidate
    raise _refusal("uv.lock", f"It does not hold {dependency['name']}, which it needs.", "Run uv lock again.")


def _locked(package: dict[str, Any]) -> str:
    if "registry" not in package.get("source", {}):
        raise _refusal(
            "uv.lock",
            f"{package['name']} comes from {', '.join(package.get('source', {})) or 'an unknown source'}.",
            "Take it from the package index, or put its files into the zip.",
        )
    return _checked(f"{package['name']}=={package['version']}", "uv.lock")


def _checked(line: str, where: str) -> str:
    """The requirement in one spelling. Raises BadInputError for options, addresses and what is none."""
    if line.startswith("-"):
        raise _refusal(where, f"It has the option {line[:200]!r}.", "Name packages only: the index is the platform's.")
    try:
        found = Requirement(line)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise _refusal(where, f"{line[:200]!r} is no requirement: {reason}.", "Write it as name==version.") from error
    if found.url:
        raise _refusal(
            where, f"{line[:200]!r} is an address.", "Name a package of the index, or put its files into the zip."
        )
    if found.marker is not None and not found.marker.evaluate({"extra": ""}):
        return ""
    extras = f"[{','.join(sorted(found.extras))}]" if found.extras else ""
    return f"{canonicalize_name(found.name)}{extras}{found.specifier}"


def _refusal(where: str, message: str, remedy: str) -> BadInputError:
    return BadInputError(f"{where}: {message}", field="file", remedy=remedy, code="invalid_requirements")
