# SPDX-License-Identifier: Apache-2.0
"""YAML 1.2 (its core schema) as the dashboard reads and writes it: 1e-3 is a number, `on` and 1:30 are text.

PyYAML alone follows YAML 1.1, where these are text, true and 90. Merge keys (<<) of YAML 1.1 stay.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

INTEGER = re.compile(r"[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+)")
FLOAT = re.compile(r"[-+]?(?:(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)")
RESOLVERS = {
    "null": (re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    "bool": (re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")),
    "int": (re.compile(rf"{INTEGER.pattern}\Z"), list("-+0123456789")),
    "float": (re.compile(rf"(?:{FLOAT.pattern})\Z"), list("-+0123456789.")),
    "merge": (re.compile(r"<<\Z"), ["<"]),
}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_yaml_int(self, node: Any) -> int:
        text = str(self.construct_scalar(node))
        digits = text.lstrip("+-")
        base = {"0b": 2, "0o": 8, "0x": 16}.get(digits[:2], 10)
        return (-1 if text.startswith("-") else 1) * int(digits, base)

    def construct_yaml_float(self, node: Any) -> float:
        return float(str(self.construct_scalar(node)).replace(".", "", 1) if _is_named(node.value) else node.value)

    def construct_text(self, node: Any) -> str:
        return str(self.construct_scalar(node))

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Raises yaml.YAMLError for a key that is there twice: one of its values would be lost."""
        seen: set[Any] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is there twice", key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """It puts into quotation marks what readers of either YAML would take for something else than text."""

    def represent_text(self, data: str) -> Any:
        """Breaks of lines that YAML 1.2 does not know as such are escaped."""
        style = '"' if any(character in data for character in "\x85\u2028\u2029\ufeff") else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


for _name, (_pattern, _first) in RESOLVERS.items():
    for _each in (_Loader, _Dumper):
        _each.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", _pattern, _first)
_Dumper.add_representer(str, _Dumper.represent_text)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


_Loader.add_constructor("tag:yaml.org,2002:merge", _Loader.construct_text)  # where it is no key


def load(text: str) -> Any:
    """Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)


def dump(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True))


def _is_named(text: str) -> bool:
    """Of .inf and .nan."""
    return text.lstrip("+-")[1:].isalpha()
