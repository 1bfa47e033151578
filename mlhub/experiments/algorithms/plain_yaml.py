# SPDX-License-Identifier: Apache-2.0
"""YAML that people send, bounded as JSON bodies are: no part is written once and meant several times.

Anchors, aliases and merge keys let a few hundred characters stand for gigabytes, so they are refused.
"""

from __future__ import annotations

from typing import Any

import yaml

from mlhub.core.api.parsers import check_values
from mlhub.core.errors import InvalidInputError

LONGEST = 20_000  # characters
LONGEST_NUMBER = 100  # characters; longer ones have more than 64 bits, and take long to convert
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class PlainLoader(yaml.SafeLoader):
    """Raises YAMLError for anchors, aliases, merge keys and numbers of more than LONGEST_NUMBER characters."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        if event.anchor is not None:
            raise self._refused("Anchors and aliases are not taken", event.start_mark)
        node: Any = super().compose_node(parent, index)
        if node.tag == "tag:yaml.org,2002:merge":
            raise self._refused("The merge key << is not taken", node.start_mark)
        if node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
            raise self._refused("The number is too long", node.start_mark)
        return node

    def _refused(self, why: str, mark: Any) -> yaml.MarkedYAMLError:
        return yaml.MarkedYAMLError(problem=why, problem_mark=mark)


def load_plain_yaml(text: str) -> Any:
    """Mappings, lists and plain values that check_values takes. Raises InvalidInputError; its field is the path."""
    if len(text) > LONGEST:
        raise InvalidInputError(f"The text has {len(text):,} characters.", remedy=f"Give at most {LONGEST:,}.")
    try:
        found = yaml.load(text, PlainLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark, why = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise InvalidInputError(
            f"The text is no YAML{where}: {str(why or 'it cannot be read')[:200]}.",
            remedy="Write every value out: no anchors (&), aliases (*) or merge keys (<<).",
        ) from error
    check_values(found)
    return found
