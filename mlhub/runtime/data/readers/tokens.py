# SPDX-License-Identifier: Apache-2.0
"""Tokenizers: bytes, words, or byte pairs learned from the text. A vocabulary is JSON, stored with its dataset.

The same text always gives the same vocabulary and the same tokens: ties are broken by order, and nothing is random.
Source: Sennrich et al., ACL '16 (byte-pair encoding), over bytes, so that every text can be written.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

KINDS = ("byte", "word", "bpe")
N_BYTES = 256
BLOCK_CHARACTERS = 2**20
SAMPLE_CHARACTERS = 2**24  # of the text; the rest hardly changes which pieces are frequent
N_REMEMBERED = 200_000  # pieces whose numbers are looked up, not worked out
_PIECES = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+")

Tokens = NDArray[np.int32]


class Text(Protocol):
    def blocks(self) -> Iterator[str]:
        """Yields the text in the pieces that blocks() makes of all of it."""

    def head(self, n_characters: int) -> str: ...


class Tokenizer(Protocol):
    """size: how many tokens there are; end: the token after each document."""

    size: int
    end: int

    def encode(self, text: str) -> Tokens: ...

    def decode(self, tokens: Sequence[int]) -> str:
        """What encode() was given, but for words that were unknown."""

    def to_json(self) -> dict[str, Any]: ...


class Bytes:
    size, end = N_BYTES + 1, N_BYTES

    def encode(self, text: str) -> Tokens:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int32)

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(t for t in tokens if t < N_BYTES).decode(errors="replace")

    def to_json(self) -> dict[str, Any]:
        return {"kind": "byte"}


class Words:
    """Whole words with the space before them; 0 is any word that is not in the vocabulary, 1 ends a document."""

    UNKNOWN = "\N{REPLACEMENT CHARACTER}"
    end = 1

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._numbers = {word: i + 2 for i, word in enumerate(words)}
        self.size = len(words) + 2

    @classmethod
    def learn(cls, text: Text, *, size: int) -> Words:
        counts = Counter(pieces_of(text.blocks()))
        return cls([w for w, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: size - 2]])

    def encode(self, text: str) -> Tokens:
        return np.array([self._numbers.get(piece, 0) for piece in pieces_of(blocks(text))], dtype=np.int32)

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self._words[t - 2] if t > 1 else self.UNKNOWN * (t == 0) for t in tokens)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "word", "words": self._words}


class BytePairs:
    """Bytes, and pairs of tokens that came together often, in the order in which they were found."""

    def __init__(self, merges: Sequence[tuple[int, int]]) -> None:
        self._merges = [(int(a), int(b)) for a, b in merges]
        self._ranks = {pair: rank for rank, pair in enumerate(self._merges)}
        self._spelt = [bytes([i]) for i in range(N_BYTES)]
        for a, b in self._merges:
            self._spelt.append(self._spelt[a] + self._spelt[b])
        self.end = len(self._spelt)
        self.size = self.end + 1
        self._remembered: dict[str, tuple[int, ...]] = {}

    @classmethod
    def learn(cls, text: Text, *, size: int) -> BytePairs:
        counts = Counter(pieces_of(blocks(text.head(SAMPLE_CHARACTERS))))
        return cls(_merges(counts, n=size - N_BYTES - 1))

    def encode(self, text: str) -> Tokens:
        found: list[int] = []
        for piece in pieces_of(blocks(text)):
            tokens = self._remembered.get(piece)
            if tokens is None:
                tokens = self._encode(piece.encode())
                if len(self._remembered) < N_REMEMBERED:
                    self._remembered[piece] = tokens
            found += tokens
        return np.array(found, dtype=np.int32)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(self._spelt[t] for t in tokens if t != self.end).decode(errors="replace")

    def to_json(self) -> dict[str, Any]:
        return {"kind": "bpe", "merges": [list(pair) for pair in self._merges]}

    def _encode(self, piece: bytes) -> tuple[int, ...]:
        tokens = list(piece)
        while len(tokens) > 1:
            first = min(pairwise(tokens), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if first not in self._ranks:
                break
            tokens = merge_pair(tokens, first, N_BYTES + self._ranks[first])
        return tuple(tokens)


def learn(kind: str, text: Text, *, size: int) -> Tokenizer:
    """size: tokens at most; of bytes there are always 257. Raises KeyError for an unknown kind."""
    if kind == "byte":
        return Bytes()
    learners: Mapping[str, Any] = {"word": Words.learn, "bpe": BytePairs.learn}
    found: Tokenizer = learners[kind](text, size=size)
    return found


def from_json(raw: Mapping[str, Any] | None) -> Tokenizer:
    """What to_json() gave; None, of datasets older than vocabularies: bytes."""
    if raw is None or raw["kind"] == "byte":
        return Bytes()
    return Words(raw["words"]) if raw["kind"] == "word" else BytePairs(raw["merges"])


def first_tokens(tokenizer: Tokenizer, text: str, length: int) -> NDArray[np.uint16]:
    """The first tokens of a text that is classified, and as many ends as are missing, shape (length,)."""
    found = np.full(length, tokenizer.end, dtype=np.uint16)
    tokens = tokenizer.encode(text)[:length]
    found[: len(tokens)] = tokens
    return found


def blocks(text: str) -> Iterator[str]:
    """The text in parts that are cut where a line ends and another begins, so that no word is cut."""
    start = 0
    while start < len(text):
        end = end_of_block(text, start)
        yield text[start:end]
        start = end


def end_of_block(text: str, start: int) -> int:
    """Of the block that begins there."""
    end = start + BLOCK_CHARACTERS
    if end >= len(text):
        return end
    cut = text.rfind("\n", start, end)
    return end if cut < start + BLOCK_CHARACTERS // 2 else cut + 1


def pieces_of(parts: Iterable[str]) -> Iterator[str]:
    """Yields the pieces of a text, within which pairs are merged: a word with the blank before it, or other signs."""
    for block in parts:
        for match in _PIECES.finditer(block):
            yield match[0]


def _merges(counts: Mapping[str, int], *, n: int) -> list[tuple[int, int]]:
    """The n most frequent pairs, one after the other, each counted in what the ones before it left."""
    words = [(list(piece.encode()), count) for piece, count in sorted(counts.items())]
    pairs: Counter[tuple[int, int]] = Counter()
    where: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for number, (tokens, count) in enumerate(words):
        for pair in pairwise(tokens):
            pairs[pair] += count
            where[pair].add(number)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    found: list[tuple[int, int]] = []
    while heap and len(found) < n:
        count, pair = heapq.heappop(heap)
        if -count != pairs[pair]:  # out of date: it is deeper in the heap, or gone
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        if -count < 2:
            break
        token = N_BYTES + len(found)
        found.append(pair)
        changed: set[tuple[int, int]] = set()
        for number in sorted(where.pop(pair)):
            tokens, of = words[number]
            for old in pairwise(tokens):
                pairs[old] -= of
            words[number] = new, _ = merge_pair(tokens, pair, token), of
            for fresh in pairwise(new):
                pairs[fresh] += of
                where[fresh].add(number)
                changed.add(fresh)
        del pairs[pair]
        for fresh in sorted(changed):
            heapq.heappush(heap, (-pairs[fresh], fresh))
    return found


def merge_pair(tokens: list[int], pair: tuple[int, int], token: int) -> list[int]:
    """Returns the tokens with each occurrence of the pair, from the left, replaced by the token."""
    out: list[int] = []
    i = 0
    while i < len(tokens):
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) == pair:
            out.append(token)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out
