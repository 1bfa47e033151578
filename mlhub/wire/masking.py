# SPDX-License-Identifier: Apache-2.0
"""Replaces the values of secrets in text that leaves a pod. Standard library only."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from mlhub.wire.report import metric_name

MASK = "***"
MASK_IN_NAMES = "masked"  # names of metrics have no stars
LEAST_LENGTH = 4  # shorter lines of a value are left, since they are in any text
LEAST_ENCODED = 8  # characters of a line, or of its encoding, from which on the encoding is masked, too
CERTAINLY_NO_WORD = 16  # characters
FIXED_FIELDS = ("type", "phase", "cause")  # of a report: words of the platform's own, by which it is understood
NAMED_VALUES = ("values", "metrics")  # of a report: numbers by names that the job's code chose
BASE64_LINE = 76  # characters, after which `base64` and Python's encodebytes begin a new line


class SecretMask:
    """Masks secrets as they stand in text, in JSON, in addresses, in hex and in base64; of a value of several lines,
    each line."""

    def __init__(self, values: Iterable[str]) -> None:
        lines = {line.strip() for value in values for line in (value, *value.splitlines())}
        lines = {line for line in lines if len(line) >= LEAST_LENGTH}
        self._known = _longest_first(form for line in lines for form in (line, *_encodings(line)))
        named = [line for line in lines if not _is_word(line)]
        self._named = _longest_first(form for line in named for form in (line, *_encodings(line)))
        self._named_as_metrics = _longest_first(
            form for line in named for form in (line, metric_name(line), *_encodings(line)) if not _is_word(form)
        )

    def __call__(self, text: str) -> str:
        """The text with MASK in place of every secret."""
        return _replaced(text, self._known, MASK)

    def of_metrics(self, line: str) -> str:
        """A line that is read for metrics. Secrets that are words stay: without its `loss` nothing would be read."""
        return _replaced(line, self._named, MASK_IN_NAMES)

    def name(self, text: str) -> str:
        """The name of a metric with MASK_IN_NAMES in place of every secret that is no word."""
        return _replaced(text, self._named_as_metrics, MASK_IN_NAMES)


def masked_report(report: Any, mask: SecretMask) -> Any:
    """A parsed report with every text masked, but for FIXED_FIELDS.

    Numbers stay as they are, and so do names of fields, other than those of metrics: a secret such as 5432 or loss
    would make the report one that the platform refuses.
    """
    if not isinstance(report, dict):
        return masked_texts(report, mask)
    return {key: _masked_field(key, value, mask) for key, value in report.items()}


def _masked_field(key: str, value: Any, mask: SecretMask) -> Any:
    if key in FIXED_FIELDS:
        return value
    if key in NAMED_VALUES and isinstance(value, dict):
        return {mask.name(name): masked_texts(inner, mask) for name, inner in value.items()}
    return masked_texts(value, mask)


def masked_texts(value: Any, mask: Callable[[str], str]) -> Any:
    """A value of JSON with every text masked; numbers and names of fields stay."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: masked_texts(inner, mask) for key, inner in value.items()}
    return [masked_texts(inner, mask) for inner in value] if isinstance(value, list) else value


def _replaced(text: str, known: Iterable[str], mask: str) -> str:
    for value in known:
        text = text.replace(value, mask)
    return text


def _longest_first(known: Iterable[str]) -> list[str]:
    """A secret that contains another one goes first."""
    return sorted(set(known), key=lambda value: (-len(value), value))


def _is_word(line: str) -> bool:
    """Whether code may use it as a word of its own, such as `loss` or `eval/accuracy`, or as a number."""
    is_plain = re.fullmatch(r"[a-z_/]+|[0-9.]+", line) is not None
    return len(line) < LEAST_ENCODED or (is_plain and len(line) < CERTAINLY_NO_WORD)


def _encodings(line: str) -> Iterator[str]:
    """How else the line may be printed. Of short lines only as in JSON: what encodes them is in any text."""
    yield json.dumps(line)[1:-1]
    if len(line) < LEAST_ENCODED:
        return
    data = line.encode(errors="replace")
    yield from (
        quote(line, safe="", errors="replace"),
        quote(line, errors="replace"),
        quote_plus(line, errors="replace"),
    )
    yield from (data.hex(), data.hex().upper())
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            yield from _base64(data, before, encode)


def _base64(data: bytes, before: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """The characters of base64 that depend on nothing but the data, where it follows so many bytes (modulo 3)."""
    text = encode(bytes(before) + data).decode()
    first, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
    yield text[first:end]
    if before == 0 and end > BASE64_LINE:  # wrapped
        pieces = (text[start : min(end, start + BASE64_LINE)] for start in range(0, end, BASE64_LINE))
        yield from (piece for piece in pieces if len(piece) >= LEAST_ENCODED)


NO_SECRETS = SecretMask(())
