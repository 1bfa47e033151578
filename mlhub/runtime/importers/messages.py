# SPDX-License-Identifier: Apache-2.0
"""Protobuf messages declared by their published field numbers: only the fields that are read, the rest is skipped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "int32": Field.TYPE_INT32, "int64": Field.TYPE_INT64, "uint32": Field.TYPE_UINT32, "uint64": Field.TYPE_UINT64,
    "float": Field.TYPE_FLOAT, "double": Field.TYPE_DOUBLE, "bool": Field.TYPE_BOOL, "string": Field.TYPE_STRING,
    "bytes": Field.TYPE_BYTES,
}  # fmt: skip


def declared(
    package: str, messages: Mapping[str, str], enums: Mapping[str, Mapping[str, int]] | None = None
) -> dict[str, Any]:
    """Classes of the messages, by name.

    messages: name -> lines "number name type [= default]"; type is a scalar, a message or an enum, with *
    when repeated.
    """
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for name, values in (enums or {}).items():
        # each in a message of its own: words of enums share the room they are in, and Caffe's enums share words
        enum = file.message_type.add(name=f"{name}Room").enum_type.add(name=name)
        for word, value in values.items():
            enum.value.add(name=word, number=value)
    for name, text in messages.items():
        message = file.message_type.add(name=name)
        for line in filter(None, map(str.strip, text.splitlines())):
            declaration, _, default = (part.strip() for part in line.partition("="))
            number, field, kind = declaration.split()
            _add(message, package, int(number), field, kind, default, enums or {})
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def _add(message: Any, package: str, number: int, name: str, kind: str, default: str, enums: Mapping[str, Any]) -> None:
    word = kind.rstrip("*")
    field = message.field.add(name=name, number=number)
    field.label = Field.LABEL_REPEATED if kind.endswith("*") else Field.LABEL_OPTIONAL
    if word in SCALARS:
        field.type = SCALARS[word]
    else:
        field.type = Field.TYPE_ENUM if word in enums else Field.TYPE_MESSAGE
        field.type_name = f".{package}.{word}Room.{word}" if word in enums else f".{package}.{word}"
    if default:
        field.default_value = default
