# SPDX-License-Identifier: Apache-2.0
"""Compares how pages look with small reference pictures: `make visual` compares all, `make visual-renew` renews them.

A reference is the page's picture reduced so that the shapes of letters do not count, but places, sizes and colours do.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

from tests.e2e.answers import Content
from tests.e2e.dashboard import CONTENTS, NARROW, SCHEMES, WIDE, addresses, name_of, opened, see, set_scheme, show

REFERENCES = Path(__file__).with_name("references")
REDUCTIONS = {WIDE["width"]: 4, NARROW["width"]: 3}
MOST_HEIGHT_PX = 2400  # of a page; below it only more of the same follows
QUALITY = 55
NOTICED = 28  # of 255: less is what compression and the edges of letters make
MOST_LOOKS = 30
PAUSE_MS = 250
LIMIT = 0.012  # the part of a picture's points that may differ by more


def reduced(shot: bytes, width: int) -> Image.Image:
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, MOST_HEIGHT_PX)))
    return picture.reduce(REDUCTIONS[width])


def difference(one: Image.Image, other: Image.Image) -> float:
    """The part of the points that differ noticeably, 0 to 1; what only one of them has differs."""
    width, height = max(one.width, other.width), max(one.height, other.height)
    common = (0, 0, min(one.width, other.width), min(one.height, other.height))
    channels = ImageChops.difference(one.crop(common), other.crop(common)).split()
    most = ImageChops.lighter(ImageChops.lighter(channels[0], channels[1]), channels[2])
    n_differ = sum(most.histogram()[NOTICED:])
    return (n_differ + width * height - common[2] * common[3]) / (width * height)


def pictures(page: Any, address: str, content: Content) -> Iterator[tuple[str, Image.Image]]:
    """The page at both widths and in both schemes, each with the name of its reference.

    With nothing and with very much in it, each width is drawn in one scheme: colours do not depend on that.
    """
    show(page, address)
    for size, own in ((WIDE, "light"), (NARROW, "dark")):
        page.set_viewport_size(size)
        see(page, MOST_HEIGHT_PX)
        for scheme in SCHEMES:
            if content != "usual" and scheme != own:
                continue
            set_scheme(page, scheme)
            yield f"{name_of(address)}-{content}-{size['width']}-{scheme}", reduced(_settled(page), size["width"])
    page.set_viewport_size(WIDE)


def _settled(page: Any) -> bytes:
    """The picture that two looks in a row give: charts are drawn anew, and tables counted anew, some time after the
    window has another size, which it also gets for a picture of the whole page.
    """
    looks = [look(page)]
    for _ in range(MOST_LOOKS - 1):
        page.wait_for_timeout(PAUSE_MS)
        looks = [looks[-1], look(page)]
        if looks[0] == looks[1]:
            return looks[1]
    raise AssertionError(f"{page.url} never looks the same twice: {_where(*looks)}")


def look(page: Any) -> bytes:
    """A picture of the page as it is now, down to where it is compared."""
    height = page.evaluate("document.documentElement.scrollHeight")
    part = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": min(height, MOST_HEIGHT_PX)}
    shot: bytes = page.screenshot(full_page=True, clip=part, animations="disabled", caret="hide")
    return shot


def _where(one: bytes, other: bytes) -> str:
    """Where two looks at a page differ."""
    first, second = _opened(one), _opened(other)
    if first.size != second.size:
        return f"its size was {first.size}, then {second.size}"
    return f"the points within {ImageChops.difference(first, second).getbbox()} changed last"


def file_of(name: str) -> Path:
    return REFERENCES / f"{name}.webp"


def compare(name: str, picture: Image.Image) -> str | None:
    """What is wrong with it; None where it looks as its reference does, or has none yet."""
    file = file_of(name)
    if not file.exists():
        return None
    found = difference(_opened(_encoded(picture)), _opened(file.read_bytes()))
    return f"{name} differs in {100 * found:.1f} % of its points" if found > LIMIT else None


def _encoded(picture: Image.Image) -> bytes:
    """As references are kept: what compression alone changes is the same in both of them."""
    out = io.BytesIO()
    picture.save(out, "WEBP", quality=QUALITY, method=6)
    return out.getvalue()


def _opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def main(pattern: str, *, renew: bool, folder: Path) -> int:
    """Of pages whose name matches. Pictures that differ are written into `folder`."""
    wrong: list[str] = []
    n_unknown = 0
    for content in CONTENTS:
        with opened(content) as (page, _):
            for address in addresses():
                if not re.search(pattern, f"{name_of(address)}-{content}"):
                    continue
                for name, picture in pictures(page, address, content):
                    if renew:
                        REFERENCES.mkdir(exist_ok=True)
                        file_of(name).write_bytes(_encoded(picture))
                    elif not file_of(name).exists():
                        n_unknown += 1
                    elif problem := compare(name, picture):
                        folder.mkdir(parents=True, exist_ok=True)
                        picture.save(folder / f"{name}.png")
                        wrong.append(problem)
    if n_unknown:
        sys.stdout.write(f"{n_unknown} pictures have no reference yet: make visual-renew makes them.\n")
    sys.stdout.write("".join(f"{line}\n" for line in wrong) or "All with a reference look as it does.\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--renew"]
    sys.exit(main(given[0] if given else "", renew="--renew" in sys.argv, folder=Path(".mlhub/visual")))
