# SPDX-License-Identifier: Apache-2.0
"""Texts as files of people have them: with a mark of byte order, in another encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.exported_model.errors import UnusableRowError
from mlhub.runtime.exported_model.inputs import read_rows

LATIN, UTF_16, NEITHER = "caf\u00e9".encode("latin-1"), "great".encode("utf-16"), b"a\x81b"
WITH_THEM = [(name, content) for name in ("notes.txt", "rows.json", "rows.jsonl") for content in (LATIN, UTF_16)]


def test_a_mark_of_byte_order_is_no_part_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"\xef\xbb\xbfgreat film")
    assert read_rows(tmp_path / "notes.txt") == [{"text": "great film"}]


# of CSV, which spreadsheets save in several, the one that is none of these
@pytest.mark.parametrize(("name", "content"), [*WITH_THEM, ("rows.csv", NEITHER)])
def test_another_encoding_is_named_with_the_remedy(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnusableRowError, match=rf"{name} is not UTF-8: .* at byte [0-9]+\. Save it as UTF-8\."):
        read_rows(tmp_path / name)
