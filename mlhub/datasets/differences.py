# SPDX-License-Identifier: Apache-2.0
"""What differs between two versions of a dataset: from what inspection counted and from the archives' directories.

No example is read, so the cost is bounded whatever the size of the data; `notes` say what that does not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mlhub.datasets.archive_listings import list_archive
from mlhub.datasets.models import DatasetVersion, VersionState

MAX_COLUMNS = 200  # that differ
MAX_CLASSES = 200
MAX_FILES = 500
MAX_FACT_CHARACTERS = 200
NOT_COMPARED = ("examples", "readings")  # of a column: some of its values, in the order of the file


class VersionChange(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class FactDifference:
    """A count or property of the whole: JSON values, None where a version does not have it."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class ColumnDifference:
    """before, after: the statistics that are stored, None where there is no such column. differs: statistics."""

    name: str
    change: VersionChange
    differs: tuple[str, ...]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True)
class ClassDifference:
    """before, after: how many examples; None where there is no such class, or they were not counted."""

    name: str
    change: VersionChange
    before: int | None
    after: int | None


@dataclass(frozen=True)
class DataFileDifference:
    """size_before, size_after: bytes, unpacked; None where there is no such file."""

    path: str
    change: VersionChange
    size_before: int | None
    size_after: int | None


@dataclass(frozen=True)
class FileCounts:
    """Of all files that were compared."""

    n_added: int
    n_removed: int
    n_changed: int
    n_same: int


@dataclass
class VersionDifference:
    """n_..._left_out: further ones that differ. file_counts: None where no files were compared."""

    is_same_content: bool
    facts: list[FactDifference] = field(default_factory=list)
    columns: list[ColumnDifference] = field(default_factory=list)
    n_columns_left_out: int = 0
    classes: list[ClassDifference] = field(default_factory=list)
    n_classes_left_out: int = 0
    files: list[DataFileDifference] = field(default_factory=list)
    n_files_left_out: int = 0
    file_counts: FileCounts | None = None
    notes: list[str] = field(default_factory=list)


def version_difference(before: DatasetVersion, after: DatasetVersion) -> VersionDifference:
    """From one version to another, also of two datasets."""
    found = VersionDifference(is_same_content=bool(before.files) and _hashes(before) == _hashes(after))
    found.notes += [note for version in (before, after) if (note := _state_note(version))]
    found.facts = _differing(dict(_facts(before)), dict(_facts(after)))
    _compare_columns(found, before, after)
    _compare_classes(found, before, after)
    if not found.is_same_content:
        _compare_files(found, before, after)
    return found


def _hashes(version: DatasetVersion) -> list[str]:
    return [file["sha256"] for file in version.files]


def _state_note(version: DatasetVersion) -> str:
    title = _title(version)
    return {
        VersionState.FETCHING: f"{title} is being fetched: nothing of it is known yet.",
        VersionState.INSPECTING: f"{title} is being inspected: what is in it is not known yet.",
        VersionState.REFUSED: f"{title} was refused: what is in it is not known.",
        VersionState.NEEDS_COLUMNS: f"{title} waits for a choice of columns: only what its columns hold is known.",
    }.get(VersionState(version.state), "")


def _title(version: DatasetVersion) -> str:
    return f"Version {version.number} of {version.dataset.name}"


def _differing(olds: Mapping[str, Any], news: Mapping[str, Any]) -> list[FactDifference]:
    return [
        FactDifference(name, olds.get(name), news.get(name))
        for name in {**olds, **news}
        if olds.get(name) != news.get(name)
    ]


def _facts(version: DatasetVersion) -> Iterator[tuple[str, Any]]:
    """Numbers and words of the schema, the shape of an input, the file as a whole, and how it was read."""
    for name, value in version.schema.items():
        if isinstance(value, str):
            yield name, value[:MAX_FACT_CHARACTERS]
        elif isinstance(value, int | float) or name == "input_shape":
            yield name, value
    statistics = version.statistics
    if "n_rows" in statistics:
        yield "n_rows", statistics["n_rows"]
        yield "n_columns", len(statistics["columns"])
    yield "format", version.format
    if version.files:
        yield "size_bytes", version.size_bytes
    for name, value in version.options.items():
        yield f"options.{name}", value


def _compare_columns(found: VersionDifference, before: DatasetVersion, after: DatasetVersion) -> None:
    olds, news = _columns(before), _columns(after)
    if olds is None or news is None:
        if olds or news:
            version = before if olds is None else after
            if version.state == VersionState.READY:
                found.notes.append(f"{_title(version)} has no statistics of columns: it is no table, or an old one.")
        return
    differing = [one for name in {**news, **olds} if (one := _column_difference(name, olds.get(name), news.get(name)))]
    found.columns = differing[:MAX_COLUMNS]
    found.n_columns_left_out = len(differing) - len(found.columns)
    if found.is_same_content:
        return
    found.notes.append(
        "Rows are counted, not compared one by one: which of them were added, removed or changed is not known. "
        "A column whose values changed and whose statistics are the same is not listed."
    )
    if {VersionChange.ADDED, VersionChange.REMOVED} <= {one.change for one in differing}:
        found.notes.append("A column that was renamed counts as one removed and one added.")


def _columns(version: DatasetVersion) -> dict[str, Mapping[str, Any]] | None:
    """None: none were counted."""
    columns = version.statistics.get("columns")
    return None if columns is None else {str(column["name"]): column for column in columns}


def _column_difference(
    name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> ColumnDifference | None:
    if old is None or new is None:
        change = VersionChange.ADDED if old is None else VersionChange.REMOVED
        return ColumnDifference(name, change, (), old, new)
    differs = [key for key in {**old, **new} if key not in NOT_COMPARED and old.get(key) != new.get(key)]
    return ColumnDifference(name, VersionChange.CHANGED, tuple(differs), old, new) if differs else None


def _compare_classes(found: VersionDifference, before: DatasetVersion, after: DatasetVersion) -> None:
    olds, news = _classes(before), _classes(after)
    if olds is None or news is None:
        return
    differing = [
        ClassDifference(name, _change(name, olds, news), olds.get(name), news.get(name))
        for name in {**news, **olds}
        if name not in olds or name not in news or olds[name] != news[name]
    ]
    found.classes = differing[:MAX_CLASSES]
    found.n_classes_left_out = len(differing) - len(found.classes)


def _classes(version: DatasetVersion) -> dict[str, int | None] | None:
    """How many examples each class has, None where that was not counted; None: there are no classes."""
    names, counts = version.schema.get("classes"), version.schema.get("class_counts")
    if not isinstance(names, list):
        return None
    by_name = counts if isinstance(counts, dict) else dict(zip(map(str, names), counts or (), strict=False))
    return {str(name): by_name.get(str(name)) for name in names}


def _change(name: str, olds: Mapping[str, Any], news: Mapping[str, Any]) -> VersionChange:
    if name not in olds:
        return VersionChange.ADDED
    return VersionChange.REMOVED if name not in news else VersionChange.CHANGED


def _compare_files(found: VersionDifference, before: DatasetVersion, after: DatasetVersion) -> None:
    """The members of two archives, or the shards of versions of many files; equal ones by their checksum and size."""
    listings = list[Mapping[str, tuple[int | str, int]]]()
    is_sharded = len(before.files) > 1 or len(after.files) > 1
    for version in (before, after):
        if not version.files or version.state == VersionState.REFUSED:
            return
        if is_sharded:
            listings.append({file["name"]: (file["sha256"], file["size_bytes"]) for file in version.files})
            continue
        listing = list_archive(version.files[0]["sha256"])
        if listing.files is None:
            if listing.problem:
                found.notes.append(f"{_title(version)}: {listing.problem}.")
            return
        listings.append(listing.files)
    olds, news = listings
    differing = [path for path in sorted({*olds, *news}) if olds.get(path) != news.get(path)]
    changes = {path: _change(path, olds, news) for path in differing}
    found.files = [
        DataFileDifference(path, changes[path], _size(olds, path), _size(news, path)) for path in differing[:MAX_FILES]
    ]
    found.n_files_left_out = len(differing) - len(found.files)
    kinds = list(changes.values())
    counts = {change: kinds.count(change) for change in VersionChange}
    found.file_counts = FileCounts(
        n_added=counts[VersionChange.ADDED],
        n_removed=counts[VersionChange.REMOVED],
        n_changed=counts[VersionChange.CHANGED],
        n_same=len(news.keys() & olds.keys()) - counts[VersionChange.CHANGED],
    )
    if found.file_counts.n_added and found.file_counts.n_removed:
        found.notes.append("A file that was renamed or moved counts as one removed and one added.")


def _size(files: Mapping[str, tuple[int | str, int]], path: str) -> int | None:
    return files[path][1] if path in files else None
