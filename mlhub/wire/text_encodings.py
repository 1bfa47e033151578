# SPDX-License-Identifier: Apache-2.0
"""How the text of a CSV file is encoded. Standard library only: exports of models carry a copy of this module."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

UTF_8, UTF_16 = "utf-8-sig", "utf-16"
WESTERN, CHINESE = "cp1252", "gb18030"
NAMES = {UTF_16: "UTF-16", WESTERN: "Windows-1252 (Western European)", CHINESE: "GB 18030 (Chinese)"}
PIECE_BYTES = 2**20
NOT_ASCII = re.compile(rb"[\x80-\xff]+")


def encoding_of(path: Path) -> str:
    """Returns the codec of a file: UTF-8 where its bytes are that, else what spreadsheets save in its place.

    UTF-16 says so at its beginning. In the Western European code page a letter with an accent stands among others
    without; Chinese characters take two bytes each and follow one another. What is none of them counts as UTF-8.
    """
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return UTF_16
    if _is_in(path, UTF_8):
        return UTF_8
    n_runs = n_long = 0
    for piece in _pieces(path):
        runs = NOT_ASCII.findall(piece)
        n_runs += len(runs)
        n_long += sum(len(run) > 1 for run in runs)
    likely = (CHINESE, WESTERN) if 2 * n_long > n_runs else (WESTERN,)
    return next((encoding for encoding in likely if _is_in(path, encoding)), UTF_8)


def _is_in(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in _pieces(path):
            # in all of them ASCII is ASCII, unless a character has begun before
            if not piece.isascii() or decoder.getstate()[0]:
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
