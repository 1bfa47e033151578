# SPDX-License-Identifier: Apache-2.0
"""Every page of the dashboard against the rules of WCAG 2.2, levels A and AA, as axe-core checks them in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.answers import Content
from tests.e2e.chromium import require_chromium
from tests.e2e.dashboard import CONTENTS, FRONTEND, NARROW, WIDE, addresses, fits, opened, set_scheme, show

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]
AXE = FRONTEND / "node_modules" / "axe-core" / "axe.min.js"
LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
CONTRAST = {"type": "rule", "values": ["color-contrast"]}  # all that a colour scheme changes
TRANSITION_MS = 1_000  # several times the longest of the theme
ALIKE = Path(__file__).with_name("alike.js")
# tables that do not fit their frames, where they are scrolled
CUT_TABLES = """
[...document.querySelectorAll("main [role=region]:has(> table)")]
  .filter((frame) => frame.scrollWidth > frame.clientWidth + 1)
  .map((frame) => `${frame.getAttribute("aria-label")}: ${frame.scrollWidth} pixels in ${frame.clientWidth}`)
"""
REPEATED = [["#alike"]]  # what that file has marked: of elements that are alike two are looked at


def violations(page: Any, rules: dict[str, Any], *, within: str = "html") -> list[str]:
    """Each as "rule at selector: markup". Those of a colour on its way to another one are gone at the second look."""
    found = _violations(page, rules, within)
    if found:
        page.wait_for_timeout(TRANSITION_MS)
        found = [line for line in _violations(page, rules, within) if line in found]
    return found


def _violations(page: Any, rules: dict[str, Any], within: str) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
        page.evaluate(ALIKE.read_text())
    page.evaluate("within => markAlike(within)", within)
    run = "([rules, include, exclude]) => axe.run({include, exclude}, {runOnly: rules, resultTypes: ['violations']})"
    found = page.evaluate(run, [rules, [[within]], REPEATED])["violations"]
    return [f"{rule['id']} at {node['target']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]


def cut_tables(page: Any) -> list[str]:
    """Each with its width. Those of a page on its way to another width are gone at the second look."""
    found: list[str] = page.evaluate(CUT_TABLES)
    if found:
        page.wait_for_timeout(TRANSITION_MS)
        found = page.evaluate(CUT_TABLES)
    return found


@pytest.mark.parametrize("content", CONTENTS)
def test_every_page_keeps_the_rules_of_wcag_light_and_dark_and_fits_a_phone(content: Content) -> None:
    require_chromium()
    found = []
    within = "html" if content == "usual" else "main"  # what is around it is the same whatever a page has
    with opened(content) as (page, errors):
        for address in addresses():
            show(page, address)
            found += [f"{address}, {WIDE['width']} pixels wide: {line}" for line in cut_tables(page)]
            found += [f"{address}, light: {line}" for line in violations(page, LEVELS, within=within)]
            set_scheme(page, "dark")
            found += [f"{address}, dark: {line}" for line in violations(page, CONTRAST, within=within)]
            if not fits(page, NARROW):
                found.append(f"{address} is wider than {NARROW['width']} pixels")
            found += [f"{address}, {NARROW['width']} pixels wide: {line}" for line in cut_tables(page)]
            page.goto("about:blank")  # a long page takes seconds to draw itself for another window
            page.set_viewport_size(WIDE)
            found += [f"{address}: {error}" for error in errors]
            errors.clear()
    assert not found, "\n".join(found)


def test_a_faint_text_is_a_violation() -> None:
    require_chromium()
    with opened("empty") as (page, _):
        show(page, "/nowhere")
        page.evaluate("document.querySelector('h1').style.color = '#999'")
        assert [line.split(" at ")[0] for line in violations(page, CONTRAST)] == ["color-contrast"]


ROW = "<tr><td>Text</td><td><button>Open</button></td><td><a id='row-{at}' href='#{at}'>One of {at}</a></td></tr>"
N_ROWS, FAR = 40, 29
FAULTS = {  # in the last cell of a far row, by the rule that it breaks
    "button-name": "<button></button>",
    "color-contrast": "<p style='color: #999'>Faint</p>",
    "image-alt": "<img src='data:,' style='width: 30px; height: 30px'>",
    "label": "<input>",
    "link-name": "<a href='#there'></a>",
    "aria-valid-attr-value": "<button aria-expanded='perhaps'>More</button>",
    "aria-required-attr": "<div role='slider' tabindex='0' aria-label='Size' style='height: 90px'>5</div>",
    "target-size": "<button aria-label='One' style='width: 9px; height: 9px; padding: 0; border: 0'></button>" * 2,
}


def test_a_fault_of_one_row_among_many_is_a_violation_whichever_row_has_it() -> None:
    require_chromium()
    rows = "".join(ROW.format(at=at) for at in range(N_ROWS))
    table = f"<table><tbody>{rows}</tbody></table>"
    replace = f"content => document.querySelectorAll('main tbody tr')[{FAR}].lastElementChild.innerHTML = content"
    with opened("empty") as (page, _):
        show(page, "/nowhere")
        page.evaluate("table => document.querySelector('main').insertAdjacentHTML('beforeend', table)", table)
        assert violations(page, LEVELS) == []
        assert page.locator("main tbody tr:not([data-alike])").count() == 2  # so the other ones are no further work
        for rule, fault in FAULTS.items():
            page.evaluate(replace, fault)
            assert {line.split(" at ")[0] for line in violations(page, LEVELS)} == {rule}
        page.add_style_tag(content="[data-mantine-color-scheme=dark] .faint { color: #444 }")
        page.evaluate(replace, "<p class='faint'>Faint where it is dark</p>")
        assert violations(page, LEVELS) == []
        set_scheme(page, "dark")
        assert [line.split(" at ")[0] for line in violations(page, CONTRAST)] == ["color-contrast"]
