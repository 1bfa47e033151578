# SPDX-License-Identifier: Apache-2.0
"""The built dashboard in a browser, without a platform: its files come from dist/, the API's answers from its schema.

`python -m tests.e2e.dashboard FOLDER [PATTERN]` writes a picture of each page there, narrow and wide, light and dark.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from tests.e2e.answers import ID, Content
from tests.e2e.chromium import ARGUMENTS, CHROMIUM
from tests.e2e.dashboard_server import FONT_FILES, FRONTEND, serving
from tests.e2e.scene import NOW, uuid

ROUTER = FRONTEND / "src" / "app" / "router.tsx"
TABS = FRONTEND / "src" / "features" / "jobs" / "detail" / "tabs" / "tabs.ts"
HOST = "dashboard.test"  # whatever port it has: addresses are in the pictures
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
CONTENTS: tuple[Content, ...] = get_args(Content)
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
PATIENCE_MS = 120_000  # of a busy machine
SETTLED_MS = 30_000
PARTS_MS = 10_000
# what changed on a page would be drawn over what was there: the edges of shapes next to it look a little different then
WHOLE_RASTER = "--disable-partial-raster"
# a symbol that turns without end is drawn 60 times a second: half of what a page with one takes, until it is closed
STANDSTILL = """
const still = new CSSStyleSheet();
still.replaceSync("*, ::before, ::after { animation: none !important; }");
document.adoptedStyleSheets = [still];
"""
CHOSEN = f"dataset={ID}&model={ID}"
# what a page shows only when its address says so
QUERIES = {"/compare": f"?jobs={ID},{ID[:-1]}2", "/jobs/new": f"?{CHOSEN}", "/studies/new": f"?{CHOSEN}"}
# further ways to look at a page, by the names of their pictures
VIEWS = {
    "jobs-beside": f"/jobs?job={ID}",
    "cluster-load": f"/cluster?colour=load&job={uuid(0)}",
    "cluster-interference": "/cluster?colour=interference",
    "queue-what-if": "/queue?view=what-if",
    "queue-rounds": "/queue?view=rounds",
    "compare-pinned": f"/compare?jobs={ID},{ID[:-1]}2&baseline={ID[:-1]}2&keep=lr:0.0001~0.01&log=1&logx=1",
    "compare-runs": f"/compare?runs={','.join(uuid(at) for at in range(5))}&baseline={uuid(4)}&metric=eval/loss",
    "usage-budgets": f"/usage?view=budgets&organisation={ID}",
}


def addresses() -> list[str]:
    """An address of every route of the dashboard, and its further views."""
    text = ROUTER.read_text()
    within = re.findall(r'\bpath: "([^"*/][^"*]*)"', text)
    found = ["/", *(f"/{path}" for path in within), *re.findall(r'openRoute\("([^"]+)"', text), "/nowhere"]
    tabs = [path.replace(":tab?", tab) for path in found if path.endswith("/:tab?") for tab in job_tabs()]
    whole = [path.removesuffix("/:tab?") for path in found]
    return [*(re.sub(r":\w+", ID, path) + QUERIES.get(path, "") for path in [*whole, *tabs]), *VIEWS.values()]


def name_of(address: str) -> str:
    """The name of its pictures."""
    view = next((name for name, known in VIEWS.items() if known == address), None)
    return view or urlsplit(address).path.replace(ID, "one").strip("/").replace("/", "-") or "home"


def job_tabs() -> list[str]:
    """Those of a job's page that have an address of their own."""
    names = re.search(r"TAB_NAMES = \[(.*?)\]", TABS.read_text(), flags=re.DOTALL)
    assert names is not None
    return [name for name in re.findall(r'"(\w+)"', names[1]) if name != "overview"]


@contextmanager
def opened(content: Content) -> Iterator[tuple[Any, list[str]]]:
    """(page, errors): a page of Chromium that shows the dashboard with that content, and the errors of its scripts."""
    from playwright.sync_api import sync_playwright

    errors: list[str] = []
    with serving(content) as port, sync_playwright() as playwright:
        arguments = [*ARGUMENTS, WHOLE_RASTER, f"--host-resolver-rules=MAP {HOST}:80 127.0.0.1:{port}"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        page = browser.new_page(base_url=f"http://{HOST}", viewport=WIDE, timezone_id="UTC", locale="en-GB")
        page.clock.set_fixed_time(NOW)
        page.add_init_script(STANDSTILL)
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page, errors
        browser.close()


def show(page: Any, address: str) -> None:
    """Opens the page and waits until all that it asked for is drawn."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(address, wait_until="load")
    page.get_by_role("heading", level=1).first.wait_for()
    page.add_style_tag(content=font_styles())
    page.wait_for_function("!document.querySelector('.mantine-Loader-root')")
    _open_advanced(page)
    _wait_for_parts(page)
    page.evaluate("document.fonts.ready")
    if page.get_by_role("heading", level=1).first.inner_text() == "This page failed":
        raise AssertionError(f"{address}: {page.locator('main').inner_text()}")


def _open_advanced(page: Any) -> None:
    """With motion: what is opened without it is closed when it comes back, which `set_scheme` does."""
    page.emulate_media(reduced_motion="no-preference")
    fields = page.locator("main").get_by_role("textbox")
    for closed in page.get_by_role("button", name="Advanced settings").all():
        if closed.get_attribute("aria-expanded") == "false":
            n_before = fields.count()
            closed.click()
            fields.nth(n_before).wait_for()  # their code is loaded with the click
            page.wait_for_function("!document.querySelector('main [style*=will-change]')")
    page.emulate_media(reduced_motion="reduce")


def see(page: Any, height: int) -> None:
    """Scrolls through the page's upper part and back to its top: what is read and drawn once it comes into view is."""
    for top in (*range(0, height, page.viewport_size["height"]), 0):
        page.evaluate("top => scrollTo(0, top)", top)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    _wait_for_parts(page, height)


def _wait_for_parts(page: Any, height: int | None = None) -> None:
    """Until no part of the page above that height is a skeleton; None: of what the window has room for."""
    from playwright.sync_api import TimeoutError as Late

    are_there = """height => [...document.querySelectorAll('main .mantine-Skeleton-root')]
        .every(part => part.getBoundingClientRect().top + scrollY > (height ?? innerHeight))"""
    try:
        page.wait_for_function(are_there, arg=height, timeout=PARTS_MS)
    except Late:
        return  # what never comes is in the picture


def font_styles() -> str:
    faces = [
        f'@font-face {{ font-family: "{name}"; src: url("/test-fonts/{name}") format("woff2"); font-weight: 100 900; }}'
        for name in FONT_FILES
    ]
    return "\n".join([*faces, ':root { --mantine-font-family-monospace: "Dashboard Mono"; }'])


def set_scheme(page: Any, scheme: Scheme) -> None:
    """At once: with reduced motion every colour would get a transition, however short."""
    page.emulate_media(color_scheme=scheme, reduced_motion="no-preference")
    page.wait_for_function("scheme => document.documentElement.dataset.mantineColorScheme === scheme", arg=scheme)


def fits(page: Any, size: dict[str, int]) -> bool:
    """Whether the page that is shown is no wider than that, once the shell has moved."""
    from playwright.sync_api import TimeoutError as Late

    page.emulate_media(reduced_motion="reduce")  # in the scheme that it has: no width depends on it
    page.set_viewport_size(size)
    try:
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth", timeout=SETTLED_MS)
    except Late:
        return False
    return True


def write_pictures(folder: Path, pattern: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for content in CONTENTS:
        with opened(content) as (page, errors):
            for address in addresses():
                name = name_of(address)
                if re.search(pattern, f"{name}-{content}"):
                    show(page, address)
                    _write_pictures_of(page, folder, f"{name}-{content}")
                    sys.stdout.write(f"{name} {content} {errors or ''}\n")
                    errors.clear()


def _write_pictures_of(page: Any, folder: Path, name: str) -> None:
    """The page that is shown, at both widths and in both schemes."""
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        for scheme in SCHEMES:
            set_scheme(page, scheme)
            page.screenshot(path=folder / f"{name}-{size['width']}-{scheme}.png", full_page=True, animations="disabled")


if __name__ == "__main__":
    write_pictures(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
