# SPDX-License-Identifier: Apache-2.0
"""The picture of the components in ARCHITECTURE.md, drawn from the import graph; `make picture` writes it.

An arrow means "imports". Arrows that follow from others are left out (the transitive reduction), so that the picture
stays readable; a test holds the committed picture against the code.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import grimp

PAGE = Path(__file__).parents[2] / "ARCHITECTURE.md"
BEGIN, END = "<!-- components: written by make picture -->", "<!-- components end -->"
WIRING = {
    "settings",
    "urls",
    "asgi",
    "celery",
    "demo",
    "embedded",
    "client",
    "_version",
    "_files",
    "_installation",
}  # next to the components
Edges = Mapping[str, frozenset[str]]


def components_of(package: str) -> dict[str, frozenset[str]]:
    """By component (a folder or top-level module of the package), the others that its modules import."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {}
    for module in graph.modules:
        component = _component(module)
        if component is None or module == package:
            continue
        others = {_component(other) for other in graph.find_modules_directly_imported_by(module)}
        found.setdefault(component, set()).update(other for other in others if other not in (None, component))
    return {component: frozenset(others) for component, others in found.items()}


def reduced(edges: Edges) -> dict[str, frozenset[str]]:
    """The edges without those that a longer path already gives."""
    return {
        component: frozenset(
            other for other in others if not any(other in _reach(edges, via) for via in others if via != other)
        )
        for component, others in edges.items()
    }


def mermaid(title: str, edges: Edges) -> list[str]:
    """The graph as lines of a Mermaid flowchart, which GitHub draws."""
    lines = [f"  subgraph {title}"]
    lines += [f"    {title}_{component}[{component}]" for component in sorted(edges)]
    lines += [f"    {title}_{one} --> {title}_{other}" for one in sorted(edges) for other in sorted(edges[one])]
    return [*lines, "  end"]


def picture() -> str:
    """What stands between the marks of ARCHITECTURE.md."""
    server = {r: o - WIRING for r, o in components_of("mlhub").items() if r not in WIRING}
    lines = ["```mermaid", "flowchart TD"]
    for title, edges in (("mlhub", server), ("scheduler", components_of("scheduler"))):
        lines += mermaid(title, reduced(edges))
    lines += ["  mlhub_control --> scheduler_round", "```"]
    return "\n".join(lines)


def committed() -> str:
    """The picture as ARCHITECTURE.md has it. Raises ValueError if the marks are gone."""
    _, _, rest = PAGE.read_text().partition(BEGIN + "\n")
    found, mark, _ = rest.partition("\n" + END)
    if not mark:
        raise ValueError(f"{PAGE.name} lost the marks of its picture")
    return found


def write() -> None:
    text = PAGE.read_text()
    PAGE.write_text(text.replace(f"{BEGIN}\n{committed()}\n{END}", f"{BEGIN}\n{picture()}\n{END}"))


def _component(module: str) -> str | None:
    parts = module.split(".")
    return None if len(parts) < 2 or parts[1] == "__main__" else parts[1]


def _reach(edges: Edges, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in edges.get(waiting.pop(), frozenset()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


if __name__ == "__main__":
    write() if "--write" in sys.argv else print(picture())
