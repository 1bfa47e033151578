# SPDX-License-Identifier: Apache-2.0
"""Events as files for other programs: CSV for spreadsheets, JSON lines for everything else."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from mlhub.events.models import Event
from mlhub.events.origins import OriginReader

COLUMNS = (
    "id", "at", "actor", "kind", "organisation", "subject_kind", "subject_id", "before", "after", "address", "facts",
    "hash",
)  # fmt: skip
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def as_csv(events: Iterable[Event], reader: OriginReader) -> str:
    """A head and a row for each event; before, after and facts are JSON. No cell begins a formula of a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for event in events:
        row = row_of(event, reader)
        writer.writerow([_cell(row[column]) for column in COLUMNS])
    return out.getvalue()


def as_json_lines(events: Iterable[Event], reader: OriginReader) -> str:
    """An object a line."""
    rows = (row_of(event, reader) for event in events)
    return "".join(json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n" for row in rows)


def row_of(event: Event, reader: OriginReader) -> dict[str, Any]:
    """Who, what, before, after, and from where, if the reader may see it.

    actor is None for the platform; facts hold the rest.
    """
    facts = reader.facts_of(event)
    own = {name: facts.pop(name, None) for name in ("before", "after", "address")}
    return {
        "id": event.pk,
        "at": event.at,
        "actor": event.actor_name(),
        "kind": event.kind,
        "organisation": event.organisation_id,
        "subject_kind": event.subject_kind,
        "subject_id": event.subject_id,
        **own,
        "facts": facts,
        "hash": event.hash,
    }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = json.dumps(value, cls=DjangoJSONEncoder) if isinstance(value, dict | list) else str(value)
    if hasattr(value, "isoformat"):
        text = value.isoformat()
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
