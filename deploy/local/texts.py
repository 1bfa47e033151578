# SPDX-License-Identifier: Apache-2.0
"""The texts of the server and their translations: python deploy/local/texts.py [FOLDER]

Reads the texts from the code, adds those that lack to each catalogue in mlhub/locale, compiles the catalogues, and
prints how many translations are missing. With a folder, such as mlhub/tenants: also the texts of its errors, where it
is none of the finished ones.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from mlhub.core.languages.catalogue import OF_PART, is_recognisable  # noqa: E402

LOCALES = ROOT / "mlhub" / "locale"
FILE = Path("LC_MESSAGES") / "mlhub.po"
# whose errors are translated, whole; the texts of others are in the catalogue where somebody has translated them
FINISHED = (
    "mlhub/announcements", "mlhub/clusters", "mlhub/control", "mlhub/core", "mlhub/datasets", "mlhub/embedded/checks",
    "mlhub/environments", "mlhub/events", "mlhub/experiments", "mlhub/jobs", "mlhub/metrics", "mlhub/notebooks",
    "mlhub/recovery", "mlhub/registry", "mlhub/retention",
    "mlhub/runtime/sandbox/capabilities.py", "mlhub/storage", "mlhub/tenants", "mlhub/tracking",
    "mlhub/usage", "mlhub/webhooks",
)  # fmt: skip
ERRORS = {
    "InvalidInputError", "ConflictError", "NotFoundError", "NotAllowedError", "QuotaExceededError", "InvalidQueryError",
    "TooLargeError", "GoneError", "UnavailableError", "TooManyAttemptsError", "RateLimitedError", "ValidationError",
    "problem", "CheckResult", "_protection", "FetchError", "BuildError", "KnownFailure", "_error", "_refused",
    "MissingSecretError",
}  # fmt: skip
# what looks into files and tries jobs out, and says why machines are closed: everything there that is a sentence is
# translated, and each by itself, since remedies are put together from several
INSPECTING = (
    "mlhub/agent/shared_folder.py", "mlhub/backends/agents/backend.py", "mlhub/backends/local/gpus.py",
    "mlhub/control/agents/actions.py", "mlhub/control/fault_isolation/quarantine.py",
    "mlhub/control/observation/node_failures.py",
    "mlhub/datasets/archive_listings.py", "mlhub/datasets/differences.py", "mlhub/jobs/submission/notebooks.py",
    "mlhub/runtime/data",
    "mlhub/runtime/environments", "mlhub/runtime/errors.py", "mlhub/runtime/importers", "mlhub/runtime/inspection",
    "mlhub/runtime/model", "mlhub/runtime/option_values.py", "mlhub/runtime/prediction",
    "mlhub/runtime/sandbox/verdicts.py", "mlhub/runtime/scripts", "mlhub/runtime/strategies",
    "mlhub/storage/inspection.py",
)  # fmt: skip
# calls besides errors that take whole messages there, and those whose arguments become parts of sentences
REFUSALS = {"refused", "_refusal", "_refused", "_bad", "invalid", "_unfit", "add_problem", "tried"}
FAULTS = {"ValueError", "UnusableClipError", "bad", "_damaged", "add"}
SAID = {"message", "detail", "remedy"}  # keywords that hold a text
Key = tuple[str, str]  # context, message
NONE: Mapping[str, ast.expr] = {}
SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])|\n")
SENTENCE = re.compile(r"[A-Z{].*[.!?]")
AROUND = re.compile(r"^\{\w+\}(?=[A-Z])|(?<=[.!?]) ?(?:\{\w+\})+$")  # a further sentence, where there is one


def declared() -> set[Key]:
    """Texts that stand in tables: reasons, advice, causes of failure, and words that fill their placeholders."""
    from mlhub.control.advice.sentences import ACTIONS, BLOCKERS, FIRST_GUARANTEE, NOT_READY, SEVERAL
    from mlhub.embedded.checks.doctor import (
        AHEAD,
        BEHIND,
        CAUSES,
        ENDED,
        MAKE_ROOM,
        MEANINGS,
        NONE_ENDED,
        RESTART,
        START,
    )
    from mlhub.runtime.sandbox.capabilities import CONSEQUENCES
    from mlhub.wire.exits import Cause
    from mlhub.wire.measurements import MEASUREMENTS
    from mlhub.wire.resource_usage import RESOURCES
    from scheduler.api.reasons import SENTENCES

    texts = {
        *SENTENCES.values(),
        *BLOCKERS.values(),
        *ACTIONS.values(),
        FIRST_GUARANTEE,
        SEVERAL,
        NOT_READY,
        *MEANINGS.values(),
        *CAUSES.values(),
        ENDED,
        NONE_ENDED,
        AHEAD,
        BEHIND,
        MAKE_ROOM,
        RESTART,
        START,
        *CONSEQUENCES.values(),
        *(text for table in (MEASUREMENTS, RESOURCES) for one in table.values() for text in (one.title, one.about)),
    }
    texts |= {text for cause in Cause for text in (cause.message, cause.remedy) if text}
    return {("", text) for text in texts}


def of_errors(folders: Iterable[str]) -> set[Key]:
    """Messages and remedies of the errors that are made in these files and folders."""
    return {("", text) for folder in folders for file in _files(ROOT / folder) for text in _texts(file.read_text())}


def of_inspections(folders: Iterable[str]) -> set[Key]:
    """The sentences of these files and folders, and the parts of sentences that their errors are made with."""
    files = (file for folder in folders for file in _files(ROOT / folder))
    return {key for file in files for key in _sentences(file.read_text())}


def _sentences(code: str) -> Iterator[Key]:
    tree = ast.parse(code)
    constants = _constants(tree)
    contexts = {id(value): context for value, context in _of_calls(tree)}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        found = templates(node, constants) if isinstance(node, ast.expr) else []
        for sentence in (one for text in found for one in SENTENCE_END.split(text)):
            text = AROUND.sub("", sentence.strip())
            context = "" if SENTENCE.fullmatch(text) else contexts.get(id(node))
            if context is not None and " " in text and is_recognisable(_literals(text)):
                yield context, text
        if not found:
            waiting += ast.iter_child_nodes(node)
        elif isinstance(node, ast.JoinedStr):
            waiting += (piece.value for piece in node.values if isinstance(piece, ast.FormattedValue))


def _of_calls(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Expressions whose text is shown though it is no whole sentence, with the context of their translations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value, OF_PART
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            is_part = name in FAULTS or (name == "refused" and isinstance(node.func, ast.Attribute))
            if is_part or name in REFUSALS or name.endswith("Error"):
                said = (*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in SAID))
                yield from ((value, OF_PART if is_part else "") for value in said)


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """What names stand for in the whole file."""
    return {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }


def _files(place: Path) -> Iterator[Path]:
    found = [place] if place.is_file() else sorted(place.rglob("*.py"))
    yield from (file for file in found if "migrations" not in file.parts)


def _texts(code: str) -> Iterator[str]:
    tree = ast.parse(code)
    yield from _of_fields(tree)
    constants = _constants(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) not in ERRORS:
            continue
        for value in (*node.args[:4], *(keyword.value for keyword in node.keywords if keyword.arg in SAID)):
            named = constants.get(value.id, value) if isinstance(value, ast.Name) else value
            yield from _recognisable(named)


def _of_fields(tree: ast.AST) -> Iterator[str]:
    """What fields of requests say in words of their own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "error_messages" and isinstance(node.value, ast.Dict):
            for value in node.value.values:
                yield from _recognisable(value)


def _recognisable(value: ast.expr) -> Iterator[str]:
    yield from (text for text in templates(value) if " " in text and is_recognisable(_literals(text)))


def _literals(message: str) -> list[str]:
    return [literal for literal, *_ in Formatter().parse(message)]


def templates(value: ast.expr, constants: Mapping[str, ast.expr] = NONE) -> list[str]:
    """The messages that an expression may become, with placeholders; [] where it cannot be read from it.

    constants: names whose texts stand in a message as they are, in place of a placeholder.
    """
    match value:
        case ast.Constant(value=str() as text):
            return [text.replace("{", "{{").replace("}", "}}")]
        case ast.IfExp():
            return [*templates(value.body, constants), *templates(value.orelse, constants)]
        case ast.BinOp(op=ast.Add()):
            pairs = product(templates(value.left, constants), templates(value.right, constants))
            return ["".join(pair) for pair in pairs]
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return templates(inner, constants)
        case ast.Name(id=name) if isinstance(constants.get(name), ast.Constant | ast.JoinedStr):
            return templates(constants[name], NONE)
        case ast.JoinedStr():
            return [_joined(value, constants)]
    return []


def _joined(value: ast.JoinedStr, constants: Mapping[str, ast.expr]) -> str:
    found, used = "", set[str]()
    for piece in value.values:
        if isinstance(piece, ast.FormattedValue) and isinstance(piece.value, ast.Name):
            said = templates(piece.value, constants)
            if said:
                found += said[0]
                continue
        if isinstance(piece, ast.FormattedValue):
            name = _name(piece.value)
            number = 2
            while name in used:
                name, number = f"{_name(piece.value)}{number}", number + 1
            used.add(name)
            found += f"{{{name}}}"
        elif isinstance(piece, ast.Constant):
            found += str(piece.value).replace("{", "{{").replace("}", "}}")
    return found


def _name(expression: ast.expr) -> str:
    """Of the placeholder: the last name in the expression that fills it."""
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_").lower()
        case ast.Call(func=function, args=[first, *_]) if isinstance(function, ast.Name):
            return _name(first)
        case ast.Call(func=function):
            return _name(function)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() as key)):
            return key if key.isidentifier() else _name(inner)
        case ast.Subscript(value=inner):
            return _name(inner)
    return "value"


def names_in(message: str) -> set[str]:
    """The placeholders of a message."""
    return {name for _, name, _, _ in Formatter().parse(message) if name is not None}


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def missing(catalogue: Catalog, wanted: Iterable[Key]) -> list[Key]:
    """Texts without a translation."""
    found = {(context, text): catalogue.get(text, context or None) for context, text in wanted}
    return [key for key, message in found.items() if message is None or not message.string]


def wrong(catalogue: Catalog) -> list[str]:
    """Messages whose translation names a placeholder that they do not have."""
    return [str(one.id) for one in catalogue if one.id and not names_in(str(one.string)) <= names_in(str(one.id))]


def main(arguments: list[str]) -> int:
    wanted = declared() | of_errors([*FINISHED, *arguments]) | of_inspections(INSPECTING)
    for path in sorted(LOCALES.glob(f"*/{FILE}")):
        catalogue = read(path)
        for context, text in sorted(wanted):
            if catalogue.get(text, context or None) is None:
                catalogue.add(text, context=context or None)
        with path.open("wb") as file:
            write_po(file, catalogue, width=160, sort_output=True, omit_header=False)
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, catalogue)
        lacking = missing(catalogue, wanted)
        print(f"{path.relative_to(LOCALES).parts[0]}: {len(catalogue)} texts, {len(lacking)} missing")
        for context, text in sorted(lacking):
            print(f"  {context}: {text}" if context else f"  {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
