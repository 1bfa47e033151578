# SPDX-License-Identifier: Apache-2.0
"""Every command line, route, file and link that README and the guides show exists, with its options and fields."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import Resolver404, resolve

from mlhub.cli.app import program as command_line
from scheduler.__main__ import command_line_parser
from tests.docs.pages import PAGES, ROOT, commands, files, heading_anchors, inline_code, prose_of, text_of
from tests.openapi import committed

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z0-9][\w-]*):", MAKEFILE, re.MULTILINE))
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
IDENTIFIER = "00000000-0000-7000-8000-0000000000aa"
FILE_NAME = re.compile(
    r"[\w.<>*{}-]+(?:/[\w.<>*{}-]+)*\.(?:py|ts|tsx|md|toml|yaml|yml|txt|sh|json|Dockerfile)(?![\w-])"
)
# Files that users have, that a run leaves, or that other projects call so; no files of this repository.
OF_USERS = {
    "model.py", "train.py", "my_policy.py", "model.json", "metadata.json", "my-values.yaml", "failures.yaml",
    "cluster.yaml", "day.yaml", "job.yaml", "src/train.py", "config/x.yaml", "XDG_CONFIG_HOME/mlhub/credentials.json",
    "round.json", "out.json", "table.md", "keys.json", "study.yaml",
    # of an exported model
    "predict.py", "serve.py", "convert.py", "preprocessing.json", "weights.safetensors", "requirements-onnx.txt",
}  # fmt: skip

BUILT = {"mlhub/_files", "frontend/dist"}  # folders that a build makes


def after(words: list[str], *start: str) -> list[str] | None:
    """The words after a command's beginning, wherever it is in the line; None when the line has no such command."""
    n = len(start)
    for i in range(len(words) - n + 1):
        if all(
            word == first or word.endswith("/" + first) for word, first in zip(words[i : i + n], start, strict=True)
        ):
            return words[i + n :]
    return None


def lines_of(*start: str) -> list[tuple[str, list[str]]]:
    """(page, the words after `start`) of every command that begins so."""
    found = [(page, after(words, *start)) for page in PAGES for words in commands(page)]
    return [(page, rest) for page, rest in found if rest is not None]


def test_the_commands_of_mlhub_have_these_options() -> None:
    program: Any = command_line()
    lines = [(page, words[1:]) for page in PAGES for words in commands(page) if words[:1] == ["mlhub"]]
    assert len(lines) > 100
    for page, words in lines:
        command = program
        known = {"--help", *(name for parameter in command.params for name in parameter.opts)}
        for word in words:
            if word.startswith("-"):
                assert word.partition("=")[0] in known, f"{page}: {command.name} has no option {word}"
            elif hasattr(command, "commands") and word.islower():
                assert word in command.commands, f"{page}: mlhub has no command {word}"
                command = command.commands[word]
                known |= {name for parameter in command.params for name in parameter.opts}


def test_the_scheduler_s_commands_have_these_options() -> None:
    """What a line leaves out ("...") may be required."""
    (choices,) = [action.choices for action in command_line_parser()._actions if action.choices]
    for command in dict(choices).values():
        for action in command._actions:
            action.required = False
    lines = [(page, words) for page, words in lines_of("python", "-m", "scheduler") if words]
    assert lines
    for page, words in lines:
        command = dict(choices)[words[0]]
        command.error = lambda message, line=(page, *words): pytest.fail(f"{line}: {message}")
        command.parse_args([word for word in words[1:] if word != "--help"])


def test_the_make_targets_exist_with_these_variables() -> None:
    lines = lines_of("make")
    assert lines
    for page, words in lines:
        targets = [word for word in words if "=" not in word]
        assert targets, page
        assert set(targets) <= TARGETS, page
        for name in [word.partition("=")[0] for word in words if "=" in word]:
            assert f"$({name})" in MAKEFILE, page


def test_the_management_commands_exist_with_these_arguments() -> None:
    works_without = {"control", "makemigrations", "reencrypt", "setup_code", "verify_audit"}
    lines = [*lines_of("manage.py"), *lines_of("python", "-m", "django")]
    assert lines
    for page, (name, *arguments) in lines:
        if name == "COMMAND":
            continue
        command = load_command_class(get_commands()[name], name)
        parser = command.create_parser("manage.py", name)
        assert arguments or name in works_without, page
        parser.parse_args(arguments)


def modules() -> Iterator[tuple[str, str, list[str]]]:
    """(page, module, its arguments) of `python -m` with another module than the scheduler."""
    for page, words in lines_of("python", "-m"):
        if words and words[0] not in ("scheduler", "django"):
            yield page, words[0], words[1:]


def test_the_modules_can_be_run_and_know_their_arguments() -> None:
    for page, module, words in modules():
        spec = importlib.util.find_spec(module)
        assert spec is not None, page
        path = Path(str(spec.origin))
        source = path.with_name("__main__.py") if path.name == "__init__.py" else path
        assert "__main__" in source.name or '__name__ == "__main__"' in source.read_text(), page
        options = [word for word in words if re.fullmatch(r"(--)?[a-z][a-z-]*", word)]  # the other words are values
        assert [word for word in options if f'"{word}"' not in source.read_text()] == [], page


def routes() -> Iterator[tuple[str, str, str]]:
    """(page, method or "", path) of every route of the API that a page names."""
    route = re.compile(rf"(?:({'|'.join(METHODS)}) )?(?:https?://[\w.:]+)?(/api/v1/[\w/{{}}|$.:-]*)")
    for page in PAGES:
        for method, path in route.findall(text_of(page)):
            start, _, alternatives = path.rstrip("/.:").rpartition("/")
            yield from ((page, method, f"{start}/{last}") for last in alternatives.split("|"))


def test_the_routes_of_the_api_exist_with_these_methods() -> None:
    found = set(routes())
    assert len(found) > 100
    assert [route for route in sorted(found) if not exists(*route)] == []


def exists(_: str, method: str, path: str) -> bool:
    concrete = re.sub(r"\{id\}|\$\w+", IDENTIFIER, path)
    numbered = re.sub(r"\{id\}|\$\w+", "7", path)  # rounds have numbers
    for candidate in (concrete, numbered):
        try:
            match = resolve(candidate.replace("{name}", "n1"))
        except Resolver404:
            continue
        view = getattr(match.func, "view_class", None) or getattr(match.func, "cls", None)
        if match.url_name is None and view is None:
            continue  # the dashboard, which answers to all other addresses
        return not method or view is None or hasattr(view, method.lower())
    return False


def test_the_fields_that_curl_sends_are_fields_of_the_request() -> None:
    schema = committed()
    sent = 0
    for page, words in lines_of("curl"):
        path = next(re.sub(r"^https?://[^/]+", "", word) for word in words if re.match(r"https?://", word))
        forms = [words[i + 1].partition("=")[0] for i, word in enumerate(words) if word == "-F"]
        bodies = [json.loads(words[i + 1]) for i, word in enumerate(words) if word == "-d"]
        given = [("multipart/form-data", forms), *(("application/json", list(body)) for body in bodies)]
        for kind, names in ((kind, names) for kind, names in given if names):
            content = schema["paths"][path]["post"]["requestBody"]["content"][kind]
            component = content["schema"]["$ref"].rpartition("/")[2]
            assert set(names) <= schema["components"]["schemas"][component]["properties"].keys(), (page, names)
            sent += 1
    assert sent >= 3


def test_the_extras_of_the_package_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = lines_of("pip", "install")
    assert lines
    for page, words in lines:
        for names in re.findall(r"^\.\[(.+)\]$", "\n".join(words), re.MULTILINE):
            assert set(names.split(",")) <= extras.keys(), page


def test_the_files_that_pages_name_exist() -> None:
    """A file may be named by the end of its path, such as policies/toolkit/prices.py."""
    ends = {file.split("/", n)[-1] for file in files() for n in range(file.count("/") + 1)}
    missing = []
    for page in PAGES:
        for piece in inline_code(page):
            for name in FILE_NAME.findall(piece.partition("::")[0]):
                if name in OF_USERS or name in ends or "://" in piece:
                    continue
                pattern = re.sub(r"<\w+>|\{.*\}", "*", name)
                if not fnmatch.filter(ends, pattern):
                    missing.append((page, name))
    assert missing == []


def test_the_files_of_the_repository_that_command_lines_take_exist() -> None:
    tops = {file.partition("/")[0] for file in files() if "/" in file}
    words = [(page, word) for page in PAGES for line in commands(page) for word in line]
    ours = [(page, word) for page, word in words if word.partition("/")[0] in tops]
    named = [(page, word) for page, word in ours if FILE_NAME.fullmatch(word) and "<" not in word]
    assert named
    assert [(page, name) for page, name in named if name not in files()] == []


def test_the_folders_of_the_repository_that_pages_name_exist() -> None:
    folders = {str(parent) for file in files() for parent in Path(file).parents}
    tops, known = {folder for folder in folders if "/" not in folder}, folders | files() | BUILT
    pieces = [(page, piece) for page in PAGES for piece in inline_code(page)]
    paths = [(page, p.rstrip("/")) for page, p in pieces if re.fullmatch(r"[\w.-]+/(?:[\w.-]+/)*[\w.-]*", p)]
    ours = [(page, name) for page, name in paths if name.partition("/")[0] in tops]
    assert ours
    assert [(page, name) for page, name in ours if name not in known] == []


def test_the_links_of_pages_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
            path, _, anchor = link.partition("#")
            if "://" in link:
                continue
            to = os.path.normpath(ROOT / Path(page).parent / path) if path else str(ROOT / page)
            if not os.path.exists(to) or (anchor and anchor not in heading_anchors(os.path.relpath(to, ROOT))):
                broken.append((page, link))
    assert broken == []
