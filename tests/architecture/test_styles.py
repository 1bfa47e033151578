# SPDX-License-Identifier: Apache-2.0
"""Components of the dashboard take no class from a style sheet that does not have it: no compiler notices."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "frontend" / "src"
IMPORT = re.compile(r'import (\w+) from "([^"]+\.module\.css)"')


def missing_classes(component: Path, text: str) -> list[str]:
    """Those that the component takes from its style sheets, which they lack."""
    found = []
    for name, address in IMPORT.findall(text):
        sheet = SOURCE / address[2:] if address.startswith("@/") else component.parent / address
        there = set(re.findall(r"\.([A-Za-z]\w*)", sheet.read_text()))
        found += sorted(set(re.findall(rf"\b{name}\.(\w+)", text)) - there)
    return found


def test_every_class_is_in_its_style_sheet() -> None:
    missing = {str(path): names for path in SOURCE.rglob("*.tsx") if (names := missing_classes(path, path.read_text()))}
    assert missing == {}


def test_a_misspelt_class_is_noticed() -> None:
    chart = SOURCE / "features" / "studies" / "BestCurve.tsx"
    assert missing_classes(chart, chart.read_text().replace("classes.chart", "classes.chatr")) == ["chatr"]
