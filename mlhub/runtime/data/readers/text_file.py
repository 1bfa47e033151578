# SPDX-License-Identifier: Apache-2.0
"""A text in a file, read a part at a time: parts are cut as they would be if the whole were at hand."""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator
from pathlib import Path

from mlhub.runtime.data.readers.tokens import BLOCK_CHARACTERS, end_of_block
from mlhub.runtime.errors import BadInputError

READ_BYTES = 2**20


class TextFile:
    """UTF-8 text. Every method reads the file from its start, and raises BadInputError where it is not UTF-8."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def chunks(self) -> Generator[str, int | None]:
        """In the order of the file, cut anywhere. What is sent back to the generator is the next chunk's least size."""
        decoder, n_read, size = codecs.getincrementaldecoder("utf-8")(), 0, READ_BYTES
        with self._path.open("rb") as file:
            while True:
                raw = file.read(size)
                n_read += len(raw)
                try:
                    text = decoder.decode(raw, final=not raw)
                except UnicodeDecodeError as error:
                    place = n_read - len(error.object) + error.start
                    raise BadInputError(
                        f"The text is not UTF-8: {error.reason} at byte {place:,}.",
                        field="file",
                        remedy="Save it as UTF-8.",
                    ) from error
                if not raw:
                    return
                size = max(READ_BYTES, (yield text) or 0)

    def head(self, n_characters: int) -> str:
        """The first so many characters."""
        found, n = list[str](), 0
        for chunk in self.chunks():
            found.append(chunk)
            n += len(chunk)
            if n >= n_characters:
                break
        return "".join(found)[:n_characters]

    def blocks(self) -> Iterator[str]:
        """As tokens.blocks() of the whole text."""
        rest = ""
        for chunk in self.chunks():
            rest += chunk
            while len(rest) > BLOCK_CHARACTERS:
                end = end_of_block(rest, 0)
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest

    def documents(self, between: re.Pattern[str]) -> Iterator[str]:
        """As between.split() of the whole text. between: ends where something else than its last part begins."""
        rest, seen = "", 0
        chunks = self.chunks()
        chunk = next(chunks, None)
        while chunk is not None:
            rest += chunk
            done = 0
            for match in between.finditer(rest, seen):
                if match.end() == len(rest):  # it may go on
                    break
                yield rest[done : match.start()]
                done = match.end()
            rest = rest[done:]
            seen = len(rest.rstrip())  # documents are separated by white space
            try:
                chunk = chunks.send(4 * len(rest))  # a long document is not looked through again and again
            except StopIteration:
                break
        yield from between.split(rest)
