# SPDX-License-Identifier: Apache-2.0
"""Parquet files that are one table together: each has the columns of the first one."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from mlhub.runtime.data.readers.tables.json_lines import require_few_columns
from mlhub.runtime.data.shard_folders import shards_in
from mlhub.runtime.errors import BadInputError

PATH = re.compile(r"(Could not open Parquet input source|Failed to open local file) '[^']*'[.:]? ?")


def parquet_shards(path: Path) -> list[Path]:
    """The file, or the files of the folder. Raises BadInputError naming the shard that does not fit or is damaged, and
    for too many columns; what is wrong with a single file is found when it is read."""
    if not path.is_dir():
        with suppress(pa.ArrowException, OSError, ValueError):
            require_few_columns(len(pyarrow.parquet.read_schema(path).names))
        return [path]
    shards = shards_in(path)
    first: pa.Schema | None = None
    for shard in shards:
        try:
            schema = pyarrow.parquet.read_schema(shard).remove_metadata()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadInputError(
                f"The shard {shard.name} cannot be read as Parquet: {words_of(error)}",
                field="file",
                remedy="Write it again, or leave it out.",
            ) from error
        if first is None:
            first = schema
            require_few_columns(len(schema.names))
        elif not schema.equals(first):
            raise BadInputError(
                f"The shard {shard.name} has other columns than {shards[0].name}: {_difference(first, schema)}",
                field="file",
                remedy="Write all shards with the same columns, in the same order and of the same types.",
            )
    return shards


def words_of(error: Exception) -> str:
    """The first line of what pyarrow says, about the user's file: the platform's path of it is left out."""
    text = PATH.sub("", str(error).splitlines()[0] if str(error) else type(error).__name__)
    return "a row is longer than can be read at once." if "straddles two block boundaries" in text else text


def _difference(first: pa.Schema, other: pa.Schema) -> str:
    for name in first.names:
        if name not in other.names:
            return f"{name} is missing."
        if other.field(name).type != first.field(name).type:
            return f"{name} is {other.field(name).type}, not {first.field(name).type}."
    added = [name for name in other.names if name not in first.names]
    return f"{added[0]} is added." if added else "their order is another."
