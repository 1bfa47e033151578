# SPDX-License-Identifier: Apache-2.0
"""What `make unit` leaves out is run by another command that CI calls: no test is in none of them."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from _pytest.mark.expression import Expression

from tests.docs.pages import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
CI = re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
MARKERS = ("e2e", "chaos", "slow")
KINDS = [kind for n in range(len(MARKERS) + 1) for kind in combinations(MARKERS, n)]


def recipe(target: str) -> str:
    """What a target runs, and the targets that it calls or names as its parts."""
    (found,) = re.findall(rf"^{target}:.*\n((?:\t.*\n?)*)", MAKEFILE, re.MULTILINE)
    called = re.findall(r"\$\(MAKE\) .*", found)
    parts = " ".join(called).replace("$(PARTS)", *re.findall(r"^PARTS := (.*)$", MAKEFILE, re.MULTILINE))
    names = [word for word in parts.split() if re.search(rf"^{re.escape(word)}:", MAKEFILE, re.MULTILINE)]
    return found + "".join(map(recipe, names))


EXPRESSIONS = [
    quoted or word for name in CI for quoted, word in re.findall(r'pytest -m (?:"([^"]*)"|(\w+))', recipe(name))
]


@pytest.mark.parametrize("kind", KINDS, ids=" and ".join)
def test_a_test_with_these_markers_is_run_once_by_what_ci_calls(kind: tuple[str, ...]) -> None:
    of_it = [each for each in EXPRESSIONS if Expression.compile(each).evaluate(lambda name, **_: name in kind)]
    if "chaos" in kind and "e2e" in kind:
        assert of_it  # there is none
    else:
        assert len(of_it) == 1, (kind, of_it)
