# SPDX-License-Identifier: Apache-2.0
"""Formats are declared once: each has a reader, suffixes and first bytes that no other claims."""

from __future__ import annotations

from importlib import import_module

import pytest

from mlhub.wire import formats


@pytest.mark.parametrize("name", formats.FORMATS)
def test_every_format_has_a_reader_that_inspects_and_opens(name: str) -> None:
    module, _, attribute = formats.FORMATS[name].reader.partition(":")
    reader = getattr(import_module(f"mlhub.runtime.data.readers.{module}"), attribute)
    assert callable(reader.inspect)
    assert callable(reader.open)


def test_no_two_formats_claim_the_same_file() -> None:
    suffixes = [suffix for form in formats.FORMATS.values() for suffix in form.suffixes]
    heads = [form.first_bytes for form in formats.FORMATS.values() if form.first_bytes]
    assert len(set(suffixes)) == len(suffixes)
    assert len(set(heads)) == len(heads)
    assert all(formats.by_suffix(suffix.upper()) is not None for suffix in suffixes)


def test_a_file_is_recognised_by_its_suffix_or_its_first_bytes() -> None:
    assert formats.by_suffix(".PQ") == "parquet"
    assert formats.by_suffix(".exe") is None
    assert formats.by_first_bytes(b"PAR1\x00\x00") == "parquet"
    assert formats.by_first_bytes(b"MZ") is None
    assert formats.taking("ignore") == ["csv", "parquet", "json_lines"] == list(formats.TABLES)
    assert list(formats.PICTURES) == ["image_folder", "webdataset"]
