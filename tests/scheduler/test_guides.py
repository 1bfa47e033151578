# SPDX-License-Identifier: Apache-2.0
"""What the guides show runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_of_the_scheduling_guide_launches_its_job(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/scheduling.md").read_text(), re.DOTALL)
    exec(compile(example, "scheduling.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Launch j ")


@pytest.mark.parametrize("page", ["README.md", "docs/guides/scheduling.md", "docs/guides/simulator.md"])
def test_files_that_commands_of_a_page_take_from_the_repository_exist(page: str) -> None:
    named = re.findall(r"\b((?:benchmarks|docs|scheduler)/[\w./-]+\.(?:yaml|csv|py))", (ROOT / page).read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_relative_links_of_the_scheduling_pages_lead_somewhere() -> None:
    pages = ["docs/guides/scheduling.md", "docs/guides/writing-a-policy.md", "docs/guides/simulator.md"]
    pages.append("benchmarks/results/scheduling-notes.md")
    for page in pages:
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text())
        assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []
