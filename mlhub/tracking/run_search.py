# SPDX-License-Identifier: Apache-2.0
"""What people type to find runs: words, parameters and tags as lr=0.1, and numbers as loss<0.5.

A word in quotation marks may have spaces, as may a part of one: optimizer="SGD with momentum".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from django.db.models import Case, CharField, Exists, F, FloatField, OuterRef, Q, QuerySet, When
from django.db.models.functions import Cast

from mlhub.core.errors import InvalidQueryError
from mlhub.tracking.models import Run, RunParam, RunSeries, RunTag

SEARCHED = ("name", "project__name", "created_by__username")
MAX_WORDS = 8
WORD = re.compile(r'(?:"[^"]*"|\S)+')
COMPARISON = re.compile(r"(?P<key>[^<>=]+)(?P<sign><=|>=|<|>)(?P<number>[^<>=]+)")
LOOKUPS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
# what PostgreSQL can read as a number of double precision, without one that is too large for it
NUMBER = r"^[+-]?(\d{1,100}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?$"


def search(rows: QuerySet[Run], text: str, *, field: str) -> QuerySet[Run]:
    """Those of which every word of the text holds. Raises InvalidQueryError for too many words."""
    words = [plain for word in WORD.findall(text) if (plain := word.replace('"', ""))]
    if len(words) > MAX_WORDS:
        raise InvalidQueryError(f"The search has {len(words)} words.", field=field, remedy=f"Give at most {MAX_WORDS}.")
    rows = rows.alias(id_text=Cast("id", CharField()))
    for word in words:
        found = Q(id_text__startswith=word.lower())
        for place in SEARCHED:
            found |= Q(**{f"{place}__icontains": word})
        for part in _parts_named(word):
            found |= Q(Exists(part.filter(run=OuterRef("pk"))))
        rows = rows.filter(found)
    return rows


def _parts_named(word: str) -> list[QuerySet[Any]]:
    """The parameters, tags and metrics that are meant; by their key, so that not all of a run are looked through."""
    if match := COMPARISON.fullmatch(word):
        number = _number(match["number"])
        if number is None:
            return []
        lookup, key = LOOKUPS[match["sign"]], match["key"]
        as_number = Case(When(value__regex=NUMBER, then=Cast(F("value"), FloatField())))
        params = RunParam.objects.filter(key=key).alias(number=as_number)
        return [
            # for PostgreSQL NaN is above all numbers
            RunSeries.objects.filter(key=key, **{f"last_value__{lookup}": number}).exclude(last_value=math.nan),
            params.filter(**{f"number__{lookup}": number}),
        ]
    key, equals, value = word.partition("=")
    if not equals:
        return []
    return [_valued(RunParam.objects.filter(key=key), value), _valued(RunTag.objects.filter(key=key), value)]


def _valued(entries: QuerySet[Any], value: str) -> QuerySet[Any]:
    """Those of this value; one that is a number is found however it is written: 1e-5 as 1e-05."""
    if not value:
        return entries
    found = Q(value__iexact=value)
    number = _number(value)
    if number is not None:
        found |= Q(value__in={spell(number) for spell in SPELLINGS})
    return entries.filter(found)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


SPELLINGS: tuple[Callable[[float], str], ...] = (repr, "{:g}".format, "{:.12g}".format)
