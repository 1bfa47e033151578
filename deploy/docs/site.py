# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation as a site: python deploy/docs/site.py [--out FOLDER] [--serve]

The pages stay where readers of the repository look for them. They are copied, in the same folders, to where the site
generator reads, so that every link from page to page holds. Links to files that are no pages keep their words and lose
their address.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = Path(__file__).with_name("zensical.toml")
THEME = Path(__file__).with_name("theme")
SOURCES = (
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md",
    "docs/**/*.md", "docs/images/*", "benchmarks/results/*", "examples/README.md",
)  # fmt: skip
INDEX = {
    "README.md": "index.md",
    "examples/README.md": "examples/index.md",
    "docs/decisions/README.md": "docs/decisions/index.md",
    "docs/zh/README.md": "docs/zh/index.md",
}
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]+)\]\((?P<address>[^)\s]+)\)")
OUTSIDE = re.compile(r"^(?:[a-z]+:|#)")
FENCED = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (?=.*[^\x00-\x7f])(?P<words>.+)$", re.MULTILINE)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make docs")
    parser.add_argument("--out", type=Path, default=ROOT / ".mlhub/site", help="folder to build in")
    parser.add_argument("--serve", action="store_true", help="show it, at the address that is printed")
    given = parser.parse_args(arguments)
    shutil.rmtree(given.out, ignore_errors=True)
    write_sources(given.out / "pages")
    shutil.copy(CONFIGURATION, given.out / CONFIGURATION.name)
    shutil.copytree(THEME, given.out / THEME.name)
    command = ("serve",) if given.serve else ("build", "--strict")
    return subprocess.run([sys.executable, "-m", "zensical", *command], cwd=given.out, check=False).returncode


def write_sources(folder: Path) -> None:
    """Copies every page and picture, with links as the site needs them."""
    there = set(sources())
    for path in sorted(there):
        target = folder / INDEX.get(path, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            target.write_text(with_anchors(with_links((ROOT / path).read_text(), path=path, pages=there)))
        else:
            shutil.copy(ROOT / path, target)


def sources() -> Iterator[str]:
    for pattern in SOURCES:
        yield from (str(path.relative_to(ROOT)) for path in ROOT.glob(pattern) if path.is_file())


def with_links(text: str, *, path: str, pages: set[str]) -> str:
    """The text of the page at path with links to pages of the site; of other links of the repository the words."""

    def replaced(link: re.Match[str]) -> str:
        address, _, anchor = link["address"].partition("#")
        if OUTSIDE.match(link["address"]):
            return link[0]
        target = (ROOT / path).parent.joinpath(address).resolve()
        name = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else ""
        name = name if name in pages else f"{name}/README.md"
        if name not in pages:
            return link["text"]
        new = Path(INDEX.get(name, name))
        here = Path(INDEX.get(path, path)).parent
        up = "/".join([".."] * len(here.parts))
        return f"[{link['text']}]({f'{up}/{new}' if up else new}{'#' + anchor if anchor else ''})"

    return LINK.sub(replaced, text)


def with_anchors(text: str) -> str:
    """The text with the anchors of GitHub at headings in other letters than ASCII, which the generator would number."""

    def anchored(heading: re.Match[str]) -> str:
        anchor = re.sub(r"[^\w\- ]", "", heading["words"].lower()).replace(" ", "-")
        return f"{heading[0]} {{#{anchor}}}"

    parts = FENCED.split(text)  # every other part is a fenced block
    return "".join(part if i % 2 else HEADING.sub(anchored, part) for i, part in enumerate(parts))


if __name__ == "__main__":
    sys.exit(main())
