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
HEADER = '# SPDX-License-Identifier: Apache-2.0\n"""{about} Written by `make client`: do not edit."""\n\n'
TWIN_NOTE = "\n# Written by `make client` from asynchronous/: do not edit.\n"
TYPING = "from __future__ import annotations\n\n"
VALUES = "from mlhub.client.generated import values as v\n"
TWIN = (  # in this order
    ("async def", "def"),
    ("async with", "with"),
    ("async for", "for"),
    ("await ", ""),
    ("import asyncio", "import time"),
    ("asyncio.sleep", "time.sleep"),
    ("asynccontextmanager", "contextmanager"),
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
    schema = yaml.safe_load(SCHEMA.read_text())
    schemas = schema["components"]["schemas"]
    types, operations = SchemaTypes(schemas), operations_of(schema)
    events = [spec["x-events"] for _, _, spec in specs_of(schema) if "x-events" in spec]
    answers = [
        name
        for name in types.reached(iter([*(o.answer for o in operations), *events]))
        if not name.startswith("Paginated")
    ]
    bodies = [schemas[o.body["$ref"].rpartition("/")[2]] for o in operations if "$ref" in o.body]
    methods = resources(operations, types, schemas)
    files = {
        "generated/__init__.py": HEADER.format(about="The API's types and operations."),
        "generated/values.py": HEADER.format(about="Enumerations.") + TYPING + "from typing import Literal\n\n" + types.values(),
        "generated/records.py": HEADER.format(about="Answers.") + TYPING
        + "from datetime import datetime\nfrom typing import Any, Literal\n\n" + VALUES
        + "from mlhub.client.records import Record\n\n\n" + types.records(answers),
        "generated/bodies.py": HEADER.format(about="Parts of requests.") + TYPING
        + "from collections.abc import Mapping, Sequence\nfrom datetime import datetime\n"
        + "from typing import Any, Literal, NotRequired, TypedDict\n\n" + VALUES + "\n\n" + types.bodies(types.reached(iter(bodies))),
        "generated/asynchronous.py": HEADER.format(about="Operations.") + IMPORTS + methods,
    }  # fmt: skip
    twins = {f"asynchronous/{path.name}": path.read_text() for path in sorted((CLIENT / "asynchronous").glob("*.py"))}
    twins["generated/asynchronous.py"] = files["generated/asynchronous.py"]
    for name, text in twins.items():
        files[name.replace("asynchronous", "synchronous")] = twin(text)
    return {name: formatted(text, name) for name, text in files.items()}


IMPORTS = (
    TYPING
    + """import builtins
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mlhub.client.asynchronous.pages import PAGE_SIZE, AsyncPages
from mlhub.client.asynchronous.transport import AsyncTransport
from mlhub.client.generated import records as r
from mlhub.client.records import Rows
from mlhub.client.requests import UNSET, FileSource, Ref, StreamEvent, Unset, joined, new_key, path_of

if TYPE_CHECKING:
    from mlhub.client.generated import bodies as b
    from mlhub.client.generated import values as v


"""
)


def twin(text: str) -> str:
    """The same with calls that block: AsyncClient becomes Client, and nothing is awaited."""
    for found, written in TWIN:
        text = text.replace(found, written)
    text = re.sub(r"\bAsync(?=[A-Z])", "", text).replace("httpx.AsyncClient", "httpx.Client")
    return text if "Written by `make client`" in text else text.replace("\n", TWIN_NOTE, 1)


def formatted(text: str, name: str) -> str:
    command = [
        "ruff",
        "check",
        "--quiet",
        "--fix-only",
        "--select",
        "I,F401",
        "--config",
        FIRST_PARTY,
        "--stdin-filename",
        str(CLIENT / name),
        "-",
    ]
    text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    command = ["ruff", "format", "--quiet", "--stdin-filename", str(CLIENT / name), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


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
