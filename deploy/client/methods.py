# SPDX-License-Identifier: Apache-2.0
"""The text of the client's generated methods, as coroutines; generate.py makes the blocking twin."""

from __future__ import annotations

import keyword
from itertools import groupby
from typing import Any

from operations import SENT_BY_THE_CLIENT, Operation
from python_types import REF, SchemaTypes, docstring, union

MARGIN = "        "


def resources(operations: list[Operation], types: SchemaTypes, schemas: dict[str, Any]) -> str:
    """A class for each resource, and one that has them all."""
    ordered = sorted(operations, key=lambda o: o.resource)
    texts, names = [], []
    for resource, members in groupby(ordered, key=lambda o: o.resource):
        names.append(resource)
        texts.append(
            f"class {class_of(resource)}:\n" + docstring(f"The operations under /{resource.replace('_', '-')}.")
        )
        texts.append(
            "    def __init__(self, transport: AsyncTransport) -> None:\n        self._transport = transport\n"
        )
        texts += [method(operation, types, schemas) for operation in members]
    every = "\n".join(f"        self.{name} = {class_of(name)}(transport)" for name in names)
    texts.append(
        "class AsyncOperations:\n" + docstring("Every resource of the API.") + "\n\n"
        f"    def __init__(self, transport: AsyncTransport) -> None:\n{every}\n"
    )
    return "\n\n".join(texts)


def class_of(resource: str) -> str:
    return "Async" + "".join(part.capitalize() for part in resource.split("_")) + "Operations"


def method(operation: Operation, types: SchemaTypes, schemas: dict[str, Any]) -> str:
    body = schemas[operation.body["$ref"].removeprefix(REF)] if "$ref" in operation.body else {}
    paged = _paged_item(operation, schemas)
    arguments, notes, query, fields = _arguments(operation, types, body, is_paged=paged is not None)
    positional = [f"{name}: Ref" for name in operation.path_names]
    if operation.body and not body:
        positional.append("content: bytes")
    written = ", ".join(
        ["self", *positional, *(["/"] if positional else []), *(["*", *arguments] if arguments else [])]
    )
    values = "".join(f", {n}={n}" for n in operation.path_names)
    sent = [f'"{operation.verb}"', f'path_of("{operation.path}"{values})']
    if query:
        sent.append(f"query={{{', '.join(query)}}}")
    if fields:
        sent.append(f"body={{{', '.join(fields)}}}")
    elif operation.body and not body:
        sent.append("content=content")
    if operation.has_key:
        sent.append("key=idempotency_key or new_key()")
    answer, call, is_coroutine = _call(operation, types, sent, paged)
    head = "async def" if is_coroutine else "def"
    text = f"{operation.description or operation.id}\n\n{operation.verb} {operation.path}" + "".join(notes)
    returned = f"{'return ' if answer != 'None' else ''}{'await ' if is_coroutine else ''}{call}"
    return (
        f"    {head} {operation.method}({written}) -> {answer}:\n{docstring(text, margin=MARGIN)}\n{MARGIN}{returned}\n"
    )


def _arguments(
    operation: Operation, types: SchemaTypes, body: dict[str, Any], *, is_paged: bool
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Keyword arguments, their lines of the docstring, and the entries of query and body."""
    required, optional, notes, query, fields = [], [], [], [], []
    for parameter in operation.query:
        name = parameter["name"]
        if is_paged and name in SENT_BY_THE_CLIENT:
            continue
        kind = types.of(parameter["schema"], of_request=True)
        if parameter.get("required"):
            required.append(f"{safe(name)}: {kind}")
        else:
            optional.append(f"{safe(name)}: {union([kind, 'None'])} = None")
        notes.append(_note(name, parameter))
        joined = parameter["schema"].get("type") == "array" and not parameter.get("explode", True)
        query.append(f'"{name}": {f"joined({safe(name)})" if joined else safe(name)}')
    for name, node in body.get("properties", {}).items():
        kind = types.of(node, of_request=True)
        if name in body.get("required", []):
            required.append(f"{safe(name)}: {kind}")
        else:
            optional.append(f"{safe(name)}: {union([kind, 'Unset'])} = UNSET")
        notes.append(_note(name, node))
        fields.append(f'"{name}": {safe(name)}')
    if is_paged:
        optional.append("page_size: int = PAGE_SIZE")
        notes.append("\npage_size: rows of one request; pages are fetched when they are needed.")
    if operation.has_key:
        optional.append('idempotency_key: str = ""')
        notes.append("\nidempotency_key: a new one by default, with which the request is repeated after a cut.")
    if operation.content == "text/event-stream":
        optional.append('cursor: str = ""')
        notes.append("\ncursor: the id of the last frame that was seen; without it, the stream begins now.")
    if is_download(operation):
        required.append("to: str | PathLike[str]")
        notes.append("\nto: the file to write, which is there when all of it has arrived.")
    return required + optional, (["\n", *notes] if notes else []), query, fields


def _call(operation: Operation, types: SchemaTypes, sent: list[str], paged: str | None) -> tuple[str, str, bool]:
    """The type of the answer, the call of the transport, and whether it is awaited."""
    arguments = ", ".join(sent)
    if operation.body_type == "multipart/form-data":
        record = types.of(operation.answer)
        return record, f"self._transport.upload({record}, {', '.join(sent[1:])})", True
    if operation.content == "text/event-stream":
        return "AsyncIterator[StreamEvent]", f"self._transport.stream({', '.join(sent[1:])}, cursor=cursor)", False
    if is_download(operation):
        return "Path", f"self._transport.download({', '.join(sent[1:])}, to=to)", True
    if paged is not None:
        return (
            f"AsyncPages[{paged}]",
            f"AsyncPages(self._transport, {paged}, {', '.join(sent[1:])}, size=page_size)",
            False,
        )
    if not operation.content:
        return "None", f"self._transport.content({arguments})", True
    if operation.answer.get("type") == "array":
        record = types.of(operation.answer["items"])
        return f"ApiRows[{record}]", f"self._transport.rows({record}, {arguments})", True
    record = types.of(operation.answer)
    if record.startswith("r."):
        return record, f"self._transport.record({record}, {arguments})", True
    return "Any", f"self._transport.content({arguments})", True


def is_download(operation: Operation) -> bool:
    return operation.content not in ("", "application/json", "text/event-stream")


def _paged_item(operation: Operation, schemas: dict[str, Any]) -> str | None:
    name = operation.answer.get("$ref", "").removeprefix(REF)
    if not name.startswith("Paginated"):
        return None
    return "r." + str(schemas[name]["properties"]["results"]["items"]["$ref"]).removeprefix(REF)


def _note(name: str, node: dict[str, Any]) -> str:
    text = " ".join(node.get("description", "").partition("\n\n* ")[0].split())
    return f"\n{name}: {text}" if text else f"\n{name}"


def safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
