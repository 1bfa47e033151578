# SPDX-License-Identifier: Apache-2.0
"""The documentation's site has every guide in its navigation, and links that hold where pages are moved."""

from __future__ import annotations

import tomllib
from typing import Any

from deploy.docs.site import CONFIGURATION, sources, with_anchors, with_links
from tests.docs.pages import ROOT


def test_every_guide_is_in_the_navigation_once_and_every_entry_exists() -> None:
    groups: list[dict[str, list[str]]] = tomllib.loads(CONFIGURATION.read_text())["project"]["nav"]
    listed = [page for group in groups for pages in group.values() for page in pages]
    guides = {str(path.relative_to(ROOT)) for name in ("guides", "zh") for path in (ROOT / "docs" / name).glob("*.md")}

    assert len(listed) == len(set(listed))
    assert {guide.replace("README.md", "index.md") for guide in guides} - set(listed) == set()
    there: Any = {page.replace("README.md", "index.md") for page in sources()}
    assert set(listed) - there == set()


def test_links_to_pages_hold_and_links_to_other_files_become_their_words() -> None:
    text = "[a](../guides/quota.md#the-rules), [b](../../mlhub/celery.py), [c](https://d.org), [e](../../README.md)"

    shown = with_links(text, path="docs/decisions/studies.md", pages=set(sources()))

    assert shown == "[a](../../docs/guides/quota.md#the-rules), b, [c](https://d.org), [e](../../index.md)"


def test_headings_in_chinese_have_the_anchors_of_github_and_code_has_none() -> None:
    text = "# 在 Python 中\n\n```\n# 注释\n```\n\n## The rules\n"

    assert with_anchors(text) == "# 在 Python 中 {#在-python-中}\n\n```\n# 注释\n```\n\n## The rules\n"
