# SPDX-License-Identifier: Apache-2.0
"""Python's types for the schemas of the API: records of answers, typed dicts of requests, literals of enumerations."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

REF = "#/components/schemas/"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
Node = dict[str, Any]


class SchemaTypes:
    """Names of types as the generated modules write them: v.JobState, r.Job, b.SourceRequest."""

    def __init__(self, schemas: dict[str, Node]) -> None:
        self._schemas = schemas

    def of(self, node: Node, *, of_request: bool = False, prefix: bool = True) -> str:
        """of_request: dates may be text, too, and objects are typed dicts. prefix: with the module's short name."""
        if "$ref" in node:
            return self._named(node["$ref"].removeprefix(REF), of_request=of_request, prefix=prefix)
        parts = (
            node.get("oneOf") or node.get("anyOf") or (node.get("allOf") if len(node.get("allOf", [])) == 1 else None)
        )
        if parts:
            return union(self.of(part, of_request=of_request, prefix=prefix) for part in parts)
        if "enum" in node:
            return _literal(node["enum"])
        kinds = node.get("type", [])
        names = [
            self._plain(kind, node, of_request=of_request, prefix=prefix)
            for kind in ([kinds] if isinstance(kinds, str) else kinds)
        ]
        return union(names) if names else "Any"

    def _named(self, name: str, *, of_request: bool, prefix: bool) -> str:
        node = self._schemas[name]
        if "enum" in node:
            return f"v.{name}"
        if "properties" not in node:
            return self.of(node, of_request=of_request, prefix=prefix)
        return f"{'b' if of_request else 'r'}.{name}" if prefix else name

    def _plain(self, kind: str, node: Node, *, of_request: bool, prefix: bool) -> str:
        if kind == "array":
            item = self.of(node.get("items", {}), of_request=of_request, prefix=prefix)
            return f"Sequence[{item}]" if of_request else f"builtins.list[{item}]"
        if kind == "object":
            values = node.get("additionalProperties")
            inner = self.of(values, of_request=of_request, prefix=prefix) if isinstance(values, dict) else "Any"
            return f"Mapping[str, {inner}]" if of_request else f"dict[str, {inner}]"
        if kind == "string" and node.get("format") == "date-time":
            return "datetime | str" if of_request else "datetime"
        if node.get("format") == "binary":
            return "FileSource"
        return PLAIN[kind]

    def reached(self, roots: Iterator[Node]) -> list[str]:
        """The names of the object schemas that these nodes refer to, in alphabetical order."""
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            for name in _references(waiting.pop()):
                if name not in found:
                    found.add(name)
                    waiting.append(self._schemas[name])
        return sorted(name for name in found if "properties" in self._schemas[name])

    def records(self, names: list[str]) -> str:
        return "\n\n".join(self._record(name) for name in names)

    def bodies(self, names: list[str]) -> str:
        return "\n\n".join(self._body(name) for name in names)

    def values(self) -> str:
        return "\n".join(
            f"{name} = {_literal(node['enum'])}" for name, node in sorted(self._schemas.items()) if "enum" in node
        )

    def _record(self, name: str) -> str:
        node = self._schemas[name]
        lines = [f"class {name}(ApiRecord):", docstring(node.get("description") or f"{name} of an answer.")]
        required = set(node.get("required", []))
        for field, inner in node["properties"].items():
            found = self.of(inner, prefix=False).replace("builtins.list", "list")
            if field not in required:
                found = union([found, "None"])
            lines.append(f"    {_safe(field)}: {found}")
        return "\n".join(lines) + "\n"

    def _body(self, name: str) -> str:
        node = self._schemas[name]
        lines = [f"class {name}(TypedDict):", docstring(node.get("description") or f"{name} of a request.")]
        required = set(node.get("required", []))
        for field, inner in node["properties"].items():
            found = self.of(inner, of_request=True, prefix=False)
            lines.append(f"    {field}: {found if field in required else f'NotRequired[{found}]'}")
        return "\n".join(lines) + "\n"


def docstring(text: str, *, margin: str = "    ") -> str:
    """A docstring of lines that fit, without what would end it."""
    clean = text.replace("\\", "\\\\").replace('"""', "'''").strip()
    width = 116 - len(margin)
    lines: list[str] = []
    for line in clean.split("\n"):
        lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    if len(lines) == 1 and len(lines[0]) < width - 6 and not lines[0].endswith('"'):
        return f'{margin}"""{lines[0]}"""'
    return f'{margin}"""' + f"\n{margin}".join(lines).replace(f"\n{margin}\n", "\n\n") + f'\n{margin}"""'


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield str(node["$ref"]).removeprefix(REF)
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(repr(value) for value in values)}]"


def union(names: Iterable[str]) -> str:
    """The names with | between them, each once, None at the end."""
    found = list(dict.fromkeys(part for name in names for part in _parts(name)))
    return " | ".join(sorted(found, key=lambda name: name == "None"))


def _parts(name: str) -> list[str]:
    return [name] if "[" in name else name.split(" | ")


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
