# SPDX-License-Identifier: Apache-2.0
"""Measures how a package is layered: levels, import cycles, large folders, modules that no layer contract names.

`python -m tests.architecture.layers [PACKAGE ...]` prints the figures; test_layers.py holds them to their limits.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import networkx

ROOT = Path(__file__).parents[2]
PACKAGES = ("scheduler", "mlhub.runtime")
MOST_MODULES = 15  # of a folder

Edges = set[tuple[str, str]]  # (importer, imported)


@dataclass(frozen=True)
class Layering:
    """The figures of one package. levels: the longest chain of imports among its modules and folders at the top.

    module_cycles: groups of modules that import each other. folder_cycles: the same among the modules and folders of
    each folder, every folder taken as one. large_folders: those with more than MOST_MODULES modules, with the number.
    unnamed: modules and folders that no layer contract of pyproject.toml names.
    """

    package: str
    levels: tuple[tuple[str, ...], ...]
    module_cycles: tuple[tuple[str, ...], ...]
    folder_cycles: tuple[tuple[str, ...], ...]
    large_folders: Mapping[str, int]
    unnamed: tuple[str, ...]


def layering_of(package: str) -> Layering:
    root = package.partition(".")[0]
    graph = grimp.build_graph(root, cache_dir=None, exclude_type_checking_imports=True)
    modules = {m for m in graph.modules if m.startswith(f"{package}.")}
    edges = {(m, n) for m in modules for n in graph.find_modules_directly_imported_by(m) if n in modules}
    folders = {package, *(m.rpartition(".")[0] for m in modules)}
    siblings = {folder: _among_children(folder, edges) for folder in sorted(folders)}
    sizes = Counter(m.rpartition(".")[0] for m in modules if m not in folders)
    named = names_in_contracts()
    return Layering(
        package,
        _levels(siblings[package], {_child(package, m) for m in modules}),
        _cycles(edges),
        tuple(cycle for folder in siblings for cycle in _cycles(siblings[folder])),
        {folder: n for folder, n in sorted(sizes.items()) if n > MOST_MODULES},
        tuple(sorted(modules - named)),
    )


def names_in_contracts() -> set[str]:
    """Modules and folders that are written in the layer contracts, with the folders that contain the layers."""
    text = (ROOT / "pyproject.toml").read_text()
    found: set[str] = set()
    for contract in tomllib.loads(text)["tool"]["importlinter"]["contracts"]:
        if contract["type"] != "layers":
            continue
        layers = [name.strip(" ()") for layer in contract["layers"] for name in re.split(r"[|:]", layer)]
        containers = contract.get("containers", ())
        found |= {f"{container}.{name}" for container in containers for name in layers} if containers else set(layers)
    return found


def _child(folder: str, module: str) -> str:
    """The module or folder directly below the folder that the module belongs to."""
    return f"{folder}.{module.removeprefix(folder + '.').partition('.')[0]}"


def _among_children(folder: str, edges: Edges) -> Edges:
    below = ((m, n) for m, n in edges if m.startswith(f"{folder}.") and n.startswith(f"{folder}."))
    pairs = {(_child(folder, m), _child(folder, n)) for m, n in below}
    return {(m, n) for m, n in pairs if m != n}


def _cycles(edges: Edges) -> tuple[tuple[str, ...], ...]:
    found = networkx.strongly_connected_components(networkx.DiGraph(list(edges)))
    return tuple(sorted(tuple(sorted(group)) for group in found if len(group) > 1))


def _levels(edges: Edges, units: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """From the top down; units that import each other count as one."""
    graph = networkx.DiGraph(list(edges))
    graph.add_nodes_from(units)
    whole = networkx.condensation(graph)
    depth: dict[int, int] = {}
    for node in TopologicalSorter({n: set(whole.successors(n)) for n in whole}).static_order():
        depth[node] = 1 + max((depth[below] for below in whole.successors(node)), default=0)
    levels: dict[int, list[str]] = {}
    for node, level in depth.items():
        levels.setdefault(level, []).extend(whole.nodes[node]["members"])
    return tuple(tuple(sorted(levels[level])) for level in sorted(levels, reverse=True))


def report(layering: Layering) -> str:
    lines = [f"{layering.package}: {len(layering.levels)} levels"]
    for level in layering.levels:
        lines.append("    " + " | ".join(name.removeprefix(f"{layering.package}.") for name in level))
    for title, cycles in (("modules", layering.module_cycles), ("folders", layering.folder_cycles)):
        lines.append(f"  {len(cycles)} import cycles between {title}")
        lines += ["    " + " <-> ".join(cycle) for cycle in cycles]
    lines.append(f"  {len(layering.large_folders)} folders with more than {MOST_MODULES} modules")
    lines += [f"    {folder}: {n}" for folder, n in layering.large_folders.items()]
    lines.append(f"  {len(layering.unnamed)} modules that no layer contract names")
    lines += [f"    {name}" for name in layering.unnamed]
    return "\n".join(lines)


if __name__ == "__main__":
    print("\n".join(report(layering_of(package)) for package in sys.argv[1:] or PACKAGES))
