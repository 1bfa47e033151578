# SPDX-License-Identifier: Apache-2.0
"""What a shard says of a sample: its class, by a .cls or a field of the JSON next to it, and whether it is held out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from mlhub.runtime.data.readers.pictures import HELD_OUT
from mlhub.runtime.data.readers.tars import TarMember, TarShards
from mlhub.runtime.errors import BadInputError

CLASS_SUFFIX, JSON_SUFFIX = ".cls", ".json"
USUAL_FIELDS = ("target", "label", "class", "cls", "y")  # of the JSON, where there is no .cls
MAX_CLASS_BYTES, MAX_JSON_BYTES, MAX_LABEL = 1024, 2**20, 200
NO_CLASS = "To predict only, say targets=none."


def label_of(shards: TarShards, name: str, files: Mapping[str, TarMember], *, field: str | None, layout: str) -> str:
    """Of the .cls, unless a field of the JSON is named or there is no .cls. Raises BadInputError.

    files: of the sample, by their suffixes. layout: what to say of samples that are put together otherwise.
    """
    if field is None and CLASS_SUFFIX in files:
        label: Any = _text(shards, name, files[CLASS_SUFFIX], MAX_CLASS_BYTES, layout).strip()
    elif JSON_SUFFIX in files:
        label = _field(name, _text(shards, name, files[JSON_SUFFIX], MAX_JSON_BYTES, layout), field, layout)
    elif field is not None:
        raise BadInputError(
            f"The sample {name} has no JSON with the field {field}.",
            field="target",
            remedy="Add it, or leave target out where the class is in a .cls file.",
        )
    else:
        raise _refusal(f"The sample {name} has no class.", f"{layout} {NO_CLASS}")
    is_name = isinstance(label, str | int) and not isinstance(label, bool) and str(label).isprintable()
    if not is_name or not 0 < len(str(label)) <= MAX_LABEL:
        raise _refusal(f"The class of {name} is {str(label)[:50]!r}, not a word or a whole number.", layout)
    return str(label)


def _field(name: str, text: str, field: str | None, layout: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"The JSON of {name} cannot be read: {error}.", layout) from error
    asked = USUAL_FIELDS if field is None else (field,)
    given = next((each for each in asked if isinstance(found, dict) and each in found), None)
    if given is None:
        known = ", ".join(map(str, list(found)[:20])) if isinstance(found, dict) else "no fields"
        raise BadInputError(
            f"The JSON of {name} has no field {' or '.join(asked)}.",
            field="target",
            remedy=f"Name the field of the class as target. There are: {known[:500]}.",
        )
    return found[given]


def _text(shards: TarShards, name: str, member: TarMember, most: int, layout: str) -> str:
    if member.size > most:
        raise _refusal(f"{member.name} has {member.size:,} bytes; at most {most:,} are read.", layout)
    try:
        return shards.read(member).decode()
    except UnicodeDecodeError as error:
        raise _refusal(f"The class of {name} is not UTF-8.", layout) from error


def is_held_out(shard: str, key: str) -> bool:
    """Whether a folder, or a word of the shard's name, says so: test/000, val-000.tar."""
    folders = PurePosixPath(shard).parts[:-1] + PurePosixPath(key).parts[:-1]
    words = re.split(r"[-_.]", PurePosixPath(shard).name)
    return any(word.lower() in HELD_OUT for word in (*folders, *words))


def _refusal(message: str, remedy: str) -> BadInputError:
    return BadInputError(message, field="file", remedy=remedy)
