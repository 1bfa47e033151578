# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the README: `make pictures` writes them into docs/images, from the built dashboard, light."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from tests.e2e.answers import ID
from tests.e2e.dashboard import FRONTEND, opened, set_scheme, show

FOLDER = FRONTEND.parent / "docs" / "images"
SIZE = {"width": 1440, "height": 920}
COLOURS = 128  # of a picture's palette: a page has few
SHOWN = {"job.png": f"/jobs/{ID}", "cluster.png": "/cluster", "new-job.png": f"/jobs/new?dataset={ID}&model={ID}",
         "timeline.png": "/cluster/timeline"}  # fmt: skip

# A stream of events that stays open: the pages of the pictures are live.
OPEN_STREAM = """
window.EventSource = class extends EventTarget {
  constructor() { super(); setTimeout(() => this.onopen?.(new Event("open"))); }
  close() {}
};
"""


def main(folder: Path = FOLDER) -> None:
    with opened("usual") as (page, _):
        page.add_init_script(OPEN_STREAM)
        for name, address in SHOWN.items():
            show(page, address)
            page.set_viewport_size(SIZE)
            set_scheme(page, "light")
            picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
            picture.quantize(COLOURS).save(folder / name, optimize=True)


if __name__ == "__main__":
    main()
