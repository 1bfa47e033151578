# SPDX-License-Identifier: Apache-2.0
"""The pages that people see most look as their references do; what moved or changed its colour is noticed."""

from __future__ import annotations

import pytest

from tests.e2e.answers import ID
from tests.e2e.chromium import require_chromium
from tests.e2e.dashboard import SCHEMES, VIEWS, opened, set_scheme
from tests.e2e.visual import compare, file_of, look, pictures

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
MOST_SEEN = ("/", "/jobs", f"/jobs/{ID}", "/cluster/timeline")


def test_the_pages_that_people_see_most_look_as_their_references_do() -> None:
    require_chromium()
    with opened("usual") as (page, _):
        drawn = [named for address in MOST_SEEN for named in pictures(page, address, "usual")]
    assert all(file_of(name).exists() for name, _ in drawn)
    found = [compare(*named) for named in drawn]
    assert not [problem for problem in found if problem], (
        "make visual shows them; make visual-renew takes them as they are"
    )


def test_a_page_that_stays_as_it_is_looks_the_same_to_the_point() -> None:
    require_chromium()
    with opened("usual") as (page, _):
        for _name, _picture in pictures(page, VIEWS["jobs-beside"], "usual"):
            pass  # until everything has come
        for scheme in SCHEMES:
            set_scheme(page, scheme)
            assert look(page) == look(page)


@pytest.mark.parametrize("styles", ["main { padding-top: 24px }", "main section { background: #fff3bf !important }"])
def test_a_moved_part_and_another_colour_are_noticed(styles: str) -> None:
    require_chromium()
    with opened("usual") as (page, _):
        page.add_init_script(
            "addEventListener('DOMContentLoaded', () => document.head.append(Object.assign("
            f"document.createElement('style'), {{ textContent: {styles!r} }})))"
        )
        assert any(compare(*named) for named in pictures(page, "/", "usual"))
