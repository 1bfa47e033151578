# SPDX-License-Identifier: Apache-2.0
"""What the pages of the documentation contain: commands, routes, files and links, as text."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAIN = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/glossary.md", "examples/README.md")
PAGES = (*MAIN, *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*/*.md")))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text()


@cache
def prose_of(page: str) -> str:
    """The page without its fenced blocks."""
    return FENCED.sub("", text_of(page))


def inline_code(page: str) -> list[str]:
    """The pieces of code within sentences and tables, each on one line."""
    return [" ".join(piece.split()) for piece in INLINE.findall(prose_of(page))]


@cache
def blocks(page: str) -> tuple[str, ...]:
    """The headings, paragraphs, items and rows of tables, each on one line."""
    found: list[str] = []
    is_new = True
    for line in prose_of(page).splitlines():
        is_new = is_new or re.match(r"#|\| |- |\d+\. ", line) is not None
        if not line:
            is_new = True
        elif is_new:
            found.append(line)
            is_new = line.startswith("#")
        else:
            found[-1] += f" {line.strip()}"
    return tuple(found)


@cache
def commands(page: str) -> tuple[list[str], ...]:
    """The words of every command line: of fenced blocks without a language, and of code within sentences.

    Comments are left out, continued lines joined, `VARIABLE=value` in front and "..." removed.
    """
    return tuple(_commands(page))


def _commands(page: str) -> Iterator[list[str]]:
    blocks = [body for language, body in FENCED.findall(text_of(page)) if language in ("", "sh")]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    for line in [*lines, *inline_code(page)]:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # no command: a quote in a formula or a sentence
            continue
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words.pop(0)
        yield from _split([word for word in words if word != "..."])


def _split(words: list[str]) -> Iterator[list[str]]:
    """A line with "env A=b command" holds two commands: the outer one up to `--`, and the inner one."""
    if "--" in words:
        outer, inner = words[: words.index("--")], words[words.index("--") + 1 :]
        yield outer
        yield [word for word in inner if word != "env" and not re.fullmatch(r"[A-Z_]+=.*", word)]
    elif words:
        yield words


@cache
def files() -> frozenset[str]:
    """All files of the repository, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(listed.stdout.split())


@cache
def heading_anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
