# SPDX-License-Identifier: Apache-2.0
"""Writes the typed part of mlhub.client from the OpenAPI schema, and its blocking twin from what is written with async.

python deploy/client/generate.py writes; with --check it writes nothing, and fails when the committed files differ.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml
from methods import resources
from operations import operations_of, specs_of
from python_types import SchemaTypes

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "mlhub" / "client"
SCHEMA = ROOT / "frontend" / "openapi.yaml"
FIRST_PARTY = 'lint.isort.known-first-party = ["mlhub"]'  # also modules that are written only now
MARK = "# Written by `make client` from {source}: do not edit."
IMPORTS = {
    "values": "from typing import Literal\n",
    "records": """\
from datetime import datetime
from typing import Any, Literal

from mlhub.client.generated import values as v
from mlhub.client.records import ApiRecord

""",
    "bodies": """\
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from mlhub.client.generated import values as v

""",
    "asynchronous": """\
import builtins
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mlhub.client.asynchronous.pages import PAGE_SIZE, AsyncPages
from mlhub.client.asynchronous.transport import AsyncTransport
from mlhub.client.generated import records as r
from mlhub.client.records import ApiRows
from mlhub.client.requests import UNSET, FileSource, Ref, StreamEvent, Unset, joined, new_key, path_of

if TYPE_CHECKING:
    from mlhub.client.generated import bodies as b
    from mlhub.client.generated import values as v

""",
}
TWIN = (  # in this order
    ("async def", "def"),
    ("async with", "with"),
    ("async for", "for"),
    ("await ", ""),
    ("import asyncio", "import time"),
    ("asyncio.sleep", "time.sleep"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("__aiter__", "__iter__"),
    ("aclose", "close"),
    ("aread", "read"),
    ("aiter_", "iter_"),
    ("asynchronous", "synchronous"),
)


def generated() -> dict[str, str]:
    """The text of every generated file, by its path under mlhub/client."""
    schema = yaml.load(SCHEMA.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    schemas = schema["components"]["schemas"]
    types, operations = SchemaTypes(schemas), operations_of(schema)
    events = [spec["x-events"] for _, _, spec in specs_of(schema) if "x-events" in spec]
    reached = types.reached(iter([*(o.answer for o in operations), *events]))
    answers = [name for name in reached if not name.startswith("Paginated")]
    parts = types.reached(schemas[o.body["$ref"].rpartition("/")[2]] for o in operations if "$ref" in o.body)
    files = {
        "generated/__init__.py": _module('"""The types and operations of the API."""'),
        "generated/values.py": _module('"""Enumerations."""', "values", types.values()),
        "generated/records.py": _module('"""Answers."""', "records", types.records(answers)),
        "generated/bodies.py": _module('"""Parts of requests."""', "bodies", types.bodies(parts)),
        "generated/asynchronous.py": _module(
            '"""Operations."""', "asynchronous", resources(operations, types, schemas)
        ),
    }
    sources = {f"asynchronous/{path.name}": path.read_text() for path in sorted((CLIENT / "asynchronous").glob("*.py"))}
    sources["generated/asynchronous.py"] = files["generated/asynchronous.py"]
    for name, text in sources.items():
        files[name.replace("asynchronous", "synchronous")] = twin(text)
    return {name: formatted(text, name) for name, text in files.items()}


def twin(text: str) -> str:
    """The same with calls that block: AsyncClient becomes Client, and nothing is awaited."""
    for found, written in TWIN:
        text = text.replace(found, written)
    text = re.sub(r"\bAsync(?=[A-Z])", "", text)
    return text if MARK[:24] in text else text.replace("\n", f"\n{MARK.format(source='asynchronous/')}\n", 1)


def formatted(text: str, name: str) -> str:
    target = ["--quiet", "--stdin-filename", str(CLIENT / name), "-"]
    for command in (
        ["ruff", "check", "--fix-only", "--select", "I,F401", "--config", FIRST_PARTY, *target],
        ["ruff", "format", *target],
    ):
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def _module(about: str, imports: str = "", body: str = "") -> str:
    head = f"# SPDX-License-Identifier: Apache-2.0\n{MARK.format(source='the schema')}\n{about}\n"
    return f"{head}\nfrom __future__ import annotations\n\n{IMPORTS[imports]}\n{body}" if body else head


def main() -> int:
    files = generated()
    if "--check" in sys.argv:
        different = [n for n, text in files.items() if not (CLIENT / n).exists() or (CLIENT / n).read_text() != text]
        if different:
            print(f"The client is not that of the schema: {', '.join(different)}. Run: make client", file=sys.stderr)
        return 1 if different else 0
    for name, text in files.items():
        (CLIENT / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
