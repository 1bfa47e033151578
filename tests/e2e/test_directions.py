# SPDX-License-Identifier: Apache-2.0
"""Names that are written from right to left: where one is cut, it is cut at its end."""

from __future__ import annotations

import pytest

from tests.e2e.answers import ID
from tests.e2e.chromium import require_chromium
from tests.e2e.dashboard import NARROW, QUERIES, WIDE, fits, opened, show

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]
# elements that cut a text which begins in Arabic or Hebrew at its beginning; what is in them may cut itself at its end
CUT_AT_THE_BEGINNING = """
[...document.querySelectorAll("main *")].filter((element) => {
  const style = getComputedStyle(element);
  const text = element.textContent.trim();
  return style.textOverflow === "ellipsis" && /^[\\u0590-\\u06ff]/.test(text) && style.direction === "ltr"
    && ![...element.querySelectorAll("[dir=auto]")].some((own) => getComputedStyle(own).textOverflow === "ellipsis");
}).map((element) => element.outerHTML.slice(0, 160))
"""
PAGES = ("/", "/jobs", "/queue", "/datasets", "/models", f"/models/{ID}", f"/compare{QUERIES['/compare']}", "/cluster")


@pytest.mark.parametrize("address", PAGES)
def test_a_name_from_right_to_left_keeps_its_beginning_and_the_page_its_width(address: str) -> None:
    require_chromium()
    with opened("huge") as (page, _):
        show(page, address)
        assert page.evaluate(CUT_AT_THE_BEGINNING) == []
        page.set_viewport_size(WIDE)
        assert fits(page, NARROW)
        assert page.evaluate(CUT_AT_THE_BEGINNING) == []
