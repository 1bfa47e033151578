# SPDX-License-Identifier: Apache-2.0
"""A page in Chinese has its English page's headings, code, tables, pictures and links, and the dashboard's words."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.pages import FENCED, ROOT, inline_code, prose_of, text_of

TRANSLATED = sorted(path.name for path in (ROOT / "docs/zh").glob("*.md") if path.name != "README.md")
CATALOGUE = (ROOT / "frontend/src/locales/zh-CN.po").read_text()
COMMENT = re.compile(r"[ \t]*(?:^|(?<=\s))#(?: .*)?$", re.MULTILINE)


def code_blocks(page: str) -> list[str]:
    """The fenced blocks without comments, which are translated."""
    return [COMMENT.sub("", body) for _, body in FENCED.findall(text_of(page))]


def outline(page: str) -> list[str]:
    """What a page consists of, in its order: levels of headings, rows and columns of tables, items, pictures."""
    parts = []
    for line in prose_of(page).splitlines():
        if found := re.match(r"#+ |\| |- |\d+\. |!\[.*?\]\(.+?\)", line):
            kind = found[0].partition("](")
            parts.append(
                "row of " + str(len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))))
                if kind[0] == "| "
                else kind[2] or kind[0]
            )
    return parts


def addresses(page: str) -> Counter[str]:
    """The files and sites that a page links to; pages in both languages count as one."""
    links = re.findall(r"\]\(([^)\s]+)\)", prose_of(page))
    there = ROOT / page
    found = []
    for link in links:
        path = link.partition("#")[0]
        target = link if "://" in link else str((there.parent / path if path else there).resolve().relative_to(ROOT))
        found.append(re.sub(r"^docs/(guides|zh)/", "", target))
    return Counter(found)


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_page_in_chinese_has_the_parts_of_its_english_page(name: str) -> None:
    english, chinese = f"docs/guides/{name}", f"docs/zh/{name}"
    assert Path(ROOT / english).exists(), f"{chinese}: its English page is gone"
    behind = f"{chinese} differs from {english} in its"

    assert outline(chinese) == outline(english), f"{behind} headings, tables, lists or pictures"
    assert code_blocks(chinese) == code_blocks(english), f"{behind} code blocks"
    assert set(inline_code(chinese)) == set(inline_code(english)), f"{behind} code within sentences"
    assert addresses(chinese) == addresses(english), f"{behind} links"


@pytest.mark.parametrize("name", TRANSLATED)
def test_both_pages_link_to_each_other_below_their_titles(name: str) -> None:
    assert text_of(f"docs/guides/{name}").splitlines()[2] == f"[中文](../zh/{name})"
    assert text_of(f"docs/zh/{name}").splitlines()[2] == f"[English](../guides/{name})"


@pytest.mark.parametrize("name", TRANSLATED)
def test_what_a_page_in_chinese_names_in_bold_is_called_so_by_the_dashboard(name: str) -> None:
    shown = set(re.findall(r'^msgstr "(.+)"$', CATALOGUE, re.MULTILINE))
    prose = re.sub(r"`[^`]*`", "", prose_of(f"docs/zh/{name}"))  # code may hold two asterisks
    assert set(re.findall(r"\*\*(.+?)\*\*", prose)) - shown == set()


@pytest.mark.parametrize("name", [*TRANSLATED, "README.md"])
def test_words_in_bold_that_end_in_a_mark_have_a_space_before_a_character(name: str) -> None:
    """Otherwise CommonMark, and so GitHub, shows the asterisks."""
    prose = re.sub(r"`[^`]*`", "", prose_of(f"docs/zh/{name}"))
    named = re.findall(r"\*\*(.+?)\*\*(.?)", prose)
    assert [name for name, after in named if name[-1] in "？！。”）" and after.isalnum()] == []


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_page_in_chinese_links_to_the_chinese_page_where_there_is_one(name: str) -> None:
    english = re.findall(r"\]\(\.\./guides/([\w.-]+)", prose_of(f"docs/zh/{name}"))
    assert [other for other in english if other in TRANSLATED and other != name] == []


@pytest.mark.parametrize("name", TRANSLATED)
def test_no_page_that_there_is_in_chinese_is_said_to_be_in_english(name: str) -> None:
    of_chinese_pages = r"\]\((?!\.\./|https?:)[^)]*\)[（，]英文"
    assert re.findall(of_chinese_pages, prose_of(f"docs/zh/{name}")) == []


def test_the_index_in_chinese_lists_every_page() -> None:
    assert {name for name in TRANSLATED if f"]({name})" not in text_of("docs/zh/README.md")} == set()


@pytest.mark.parametrize("name", [*TRANSLATED, "README.md"])
def test_no_paragraph_in_chinese_is_broken_into_lines(name: str) -> None:
    """A break is shown as a space, which does not belong between Chinese characters."""
    lines = prose_of(f"docs/zh/{name}").splitlines()
    block = re.compile(r"#|\||- |\d+\. |$")
    assert [
        after for before, after in pairwise(lines) if before and not before.startswith("#") and not block.match(after)
    ] == []
