# SPDX-License-Identifier: Apache-2.0
"""Names that are written from right to left are cut at their end; a page that is read so keeps its charts."""

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


FROM_RIGHT = "addEventListener('DOMContentLoaded', () => { document.documentElement.dir = 'rtl' })"
# words of charts that would be placed at the wrong side of their point, and arrows back that point forwards
WRONG_WAY = """
[...document.querySelectorAll("main svg text")].filter(text => getComputedStyle(text).direction !== "ltr").length
+ [...document.querySelectorAll("main a svg")]
    .filter(icon => !getComputedStyle(icon).transform.startsWith("matrix(-1,")).length
"""
FIRST_BAR = "span => span.getBoundingClientRect().right - span.parentElement.getBoundingClientRect().right"


def test_a_page_from_right_to_left_keeps_its_width_its_arrows_and_the_order_of_its_bars() -> None:
    require_chromium()
    with opened("usual") as (page, _):
        page.add_init_script(FROM_RIGHT)
        for address in (f"/jobs/{ID}", f"/studies/{ID}", "/cluster/timeline"):
            show(page, address)
            page.set_viewport_size(WIDE)
            assert fits(page, NARROW)
            assert page.evaluate(WRONG_WAY) == 0
        show(page, f"/jobs/{ID}/timeline")
        first = page.get_by_role("list", name="Attempts").locator("[data-phase]").first
        assert abs(first.evaluate(FIRST_BAR)) < 1  # where the time of submission is written
