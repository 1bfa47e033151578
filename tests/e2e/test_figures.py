# SPDX-License-Identifier: Apache-2.0
"""Every figure of the dashboard can be taken along: as PNG and SVG as it looks, and as CSV."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.e2e.answers import ID
from tests.e2e.chromium import require_chromium, violations
from tests.e2e.dashboard import NARROW, QUERIES, VIEWS, WIDE, opened, see, show

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]
# pages with figures, and how many of them have a menu
PAGES = {
    "/": 4,
    f"/jobs/{ID}": 2,
    f"/jobs/new{QUERIES['/jobs/new']}": 1,
    f"/datasets/{ID}": 2,
    f"/jobs/{ID}/timeline": 2,
    f"/jobs/{ID}/metrics": 3,
    f"/jobs/{ID}/profile": 5,
    f"/studies/{ID}": 4,
    f"/models/{ID}": 1,
    f"/scheduler/lab/{ID}": 1,
    "/cluster/timeline": 1,
    VIEWS["cluster-load"]: 3,
    "/usage": 4,
    VIEWS["usage-budgets"]: 8,
    VIEWS["compare-pinned"]: 4,
    "/quotas": 1,
}
MOST_TAKEN = 2  # of a page; others are of the same kind
MOST_LOOKS, PAUSE_MS = 5, 2000
LEAST_COLOURS = 8  # of a picture in which something is drawn


def taken(page: Any, menu: Any, form: str) -> bytes:
    # a figure is drawn when it is in view; a list that needs scrolling is hidden when its button leaves the window
    menu.evaluate("button => button.scrollIntoView({block: 'center'})")
    menu.click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=f"Save as {form}").click()
    assert Path(download.value.suggested_filename).suffix == f".{form.lower()}"
    return Path(download.value.path()).read_bytes()


def faults_of(page: Any, menu: Any) -> list[str]:
    found = []
    picture = Image.open(io.BytesIO(taken(page, menu, "PNG"))).convert("RGB")
    colours = picture.getcolors(picture.width * picture.height)
    if colours is None or len(colours) < LEAST_COLOURS:
        found.append("nothing is drawn in its PNG")
    root = ElementTree.fromstring(taken(page, menu, "SVG"))
    if root.tag != "{http://www.w3.org/2000/svg}svg" or len(list(root.iter())) < LEAST_COLOURS:
        found.append("nothing is in its SVG")
    rows = list(csv.reader(io.StringIO(taken(page, menu, "CSV").decode())))
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        found.append("its CSV has no rows, or uneven ones")
    return found


def faults_once_drawn(page: Any, menu: Any) -> list[str]:
    """A chart is drawn some frames after its menu is there, which a busy machine makes seconds."""
    found = faults_of(page, menu)
    for _ in range(MOST_LOOKS - 1):
        if not found:
            break
        page.wait_for_timeout(PAUSE_MS)
        found = faults_of(page, menu)
    return found


def test_every_figure_is_saved_as_picture_and_as_numbers() -> None:
    require_chromium()
    faults: list[str] = []
    with opened("usual") as (page, errors):
        page.on("console", lambda message: errors.extend(violations(message.text)))
        for address, n_figures in PAGES.items():
            show(page, address)
            menus = page.get_by_role("button", name="Save or link:")
            menus.nth(n_figures - 1).wait_for()
            if menus.count() != n_figures:
                faults.append(f"{address}: {menus.count()} of {n_figures} menus")
            for menu in menus.all()[:MOST_TAKEN]:
                name = menu.get_attribute("aria-label")
                faults.extend(f"{address}, {name}: {fault}" for fault in faults_once_drawn(page, menu))
        faults.extend(errors)
    assert faults == []


HEIGHTS = "[...document.querySelectorAll('main figure')].map(figure => figure.getBoundingClientRect().height)"


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_chart_of_metrics_is_as_high_before_it_is_drawn(size: dict[str, int]) -> None:
    require_chromium()
    with opened("usual") as (page, _):
        page.set_viewport_size(size)
        held: list[Any] = []
        is_held = True
        page.route("**/metrics?*", lambda route: held.append(route) if is_held else route.continue_())
        page.goto(f"/jobs/{ID}/metrics", wait_until="load")
        page.locator("main figure").nth(2).wait_for()
        page.wait_for_function("() => document.querySelectorAll('main figure .mantine-Skeleton-root').length === 3")
        before = page.evaluate(HEIGHTS)
        is_held = False
        for route in held:
            route.continue_()
        see(page, size["height"] * 2)
        page.wait_for_function("() => document.querySelectorAll('main figure .u-legend').length === 3")
        assert page.evaluate(HEIGHTS) == before


@pytest.mark.parametrize(
    ("address", "chart", "name", "written"),
    [
        (f"/jobs/{ID}/profile", "figure[aria-label*=' over time'] .u-over", "time", r"seconds~[\d.]+~[\d.]+"),
        (f"/runs/{ID}", "main figure .u-over", "steps", r"\d+~\d+"),
    ],
    ids=["time", "steps"],
)
def test_a_part_that_was_dragged_over_is_in_the_address_and_there_after_a_reload(
    address: str, chart: str, name: str, written: str
) -> None:
    require_chromium()
    with opened("usual") as (page, _):
        show(page, address)
        page.locator(chart.partition(" .u-over")[0]).first.scroll_into_view_if_needed()  # it is drawn once it is seen
        drawing = page.locator(chart).first
        drawing.wait_for()
        box = drawing.bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.3, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=5)
        page.mouse.up()
        left = page.get_by_role("button", name="show all")
        left.wait_for()
        [value] = parse_qs(urlsplit(page.url).query)[name]
        assert re.fullmatch(written, value)
        said = left.inner_text()
        page.reload()
        left.wait_for()
        assert left.inner_text() == said
        left.click()
        left.wait_for(state="detached")
        assert name not in page.url
