# SPDX-License-Identifier: Apache-2.0
"""Parquet files that are one table together: each has the columns of the first one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from mlhub.runtime.data.shard_folders import shards_in
from mlhub.runtime.errors import BadInputError


def parquet_shards(path: Path) -> list[Path]:
    """The file, or the files of the folder. Raises BadInputError naming the shard that does not fit or is damaged."""
    if not path.is_dir():
        return [path]
    shards = shards_in(path)
    first: pa.Schema | None = None
    for shard in shards:
        try:
            schema = pyarrow.parquet.read_schema(shard).remove_metadata()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadInputError(
                f"The shard {shard.name} cannot be read as Parquet: {str(error).splitlines()[0]}",
                field="file",
                remedy="Write it again, or leave it out.",
            ) from error
        if first is None:
            first = schema
        elif not schema.equals(first):
            raise BadInputError(
                f"The shard {shard.name} has other columns than {shards[0].name}: {_difference(first, schema)}",
                field="file",
                remedy="Write all shards with the same columns, in the same order and of the same types.",
            )
    return shards


def _difference(first: pa.Schema, other: pa.Schema) -> str:
    for name in first.names:
        if name not in other.names:
            return f"{name} is missing."
        if other.field(name).type != first.field(name).type:
            return f"{name} is {other.field(name).type}, not {first.field(name).type}."
    added = [name for name in other.names if name not in first.names]
    return f"{added[0]} is added." if added else "their order is another."
