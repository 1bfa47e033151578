# SPDX-License-Identifier: Apache-2.0
"""Every figure of the dashboard can be taken along: as PNG and SVG as it looks, and as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.e2e.answers import ID
from tests.e2e.chromium import require_chromium, violations
from tests.e2e.dashboard import VIEWS, opened, show

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]
# pages with figures, and how many of them have a menu
PAGES = {
    f"/jobs/{ID}": 1,
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
