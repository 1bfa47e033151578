# SPDX-License-Identifier: Apache-2.0
"""Every command line, route, file and link that README and the guides show exists, with its options and fields."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer
from django.core.management import get_commands, load_command_class
from django.urls import Resolver404, resolve

from mlhub.cli.app import app as command_line
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
    "cluster.yaml", "day.yaml", "job.yaml", "src/train.py", "XDG_CONFIG_HOME/mlhub/credentials.json",
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


@pytest.mark.parametrize(
    ("page", "words"), [(page, words[1:]) for page in PAGES for words in commands(page) if words[:1] == ["mlhub"]]
)
def test_a_command_of_mlhub_has_these_options(page: str, words: list[str]) -> None:
    command: Any = typer.main.get_command(command_line)
    known = {"--help", *(name for parameter in command.params for name in parameter.opts)}
    for word in words:
        if word.startswith("-"):
            assert word.partition("=")[0] in known, f"{page}: {command.name} has no option {word}"
        elif hasattr(command, "commands") and word.islower():
            assert word in command.commands, f"{page}: mlhub has no command {word}"
            command = command.commands[word]
            known |= {name for parameter in command.params for name in parameter.opts}


@pytest.mark.parametrize(
    ("page", "words"), [(page, words) for page, words in lines_of("python", "-m", "scheduler") if words]
)
def test_a_scheduler_command_has_these_options(page: str, words: list[str]) -> None:
    """What a line leaves out ("...") may be required."""
    (choices,) = [action.choices for action in command_line_parser()._actions if action.choices]
    command = dict(choices)[words[0]]
    for action in command._actions:
        action.required = False
    command.error = lambda message: pytest.fail(f"{page}: {' '.join(words)}: {message}")
    command.parse_args([word for word in words[1:] if word != "--help"])


@pytest.mark.parametrize(("page", "words"), lines_of("make"))
def test_a_make_target_exists_with_these_variables(page: str, words: list[str]) -> None:
    targets = [word for word in words if "=" not in word]
    assert targets
    assert set(targets) <= TARGETS, page
    for name in [word.partition("=")[0] for word in words if "=" in word]:
        assert f"$({name})" in MAKEFILE, page


@pytest.mark.parametrize(("page", "words"), [*lines_of("manage.py"), *lines_of("python", "-m", "django")])
def test_a_management_command_exists_with_these_arguments(page: str, words: list[str]) -> None:
    name, *arguments = words
    if name == "COMMAND":
        return
    works_without = {"control", "makemigrations", "setup_code", "verify_audit"}
    command = load_command_class(get_commands()[name], name)
    parser = command.create_parser("manage.py", name)
    assert arguments or name in works_without, page
    parser.parse_args(arguments)


def modules() -> Iterator[tuple[str, str, list[str]]]:
    """(page, module, its arguments) of `python -m` with another module than the scheduler."""
    for page, words in lines_of("python", "-m"):
        if words and words[0] not in ("scheduler", "django"):
            yield page, words[0], words[1:]


@pytest.mark.parametrize(("page", "module", "words"), list(modules()))
def test_a_module_can_be_run_and_knows_its_arguments(page: str, module: str, words: list[str]) -> None:
    spec = importlib.util.find_spec(module)
    assert spec is not None, page
    path = Path(str(spec.origin))
    source = path.with_name("__main__.py") if path.name == "__init__.py" else path
    assert "__main__" in source.name or '__name__ == "__main__"' in source.read_text(), page
    options = [word for word in words if re.fullmatch(r"(--)?[a-z][a-z-]*", word)]  # the other words are values
    assert [word for word in options if f'"{word}"' not in source.read_text()] == [], page


def routes() -> Iterator[tuple[str, str, str]]:
    """(page, method or "", path) of every route of the API that a page names."""
    route = re.compile(rf"(?:({'|'.join(METHODS)}) )?(?:https?://[\w.:]+)?(/api/v1/[\w/{{}}|$.-]*)")
    for page in PAGES:
        for method, path in route.findall(text_of(page)):
            start, _, alternatives = path.rstrip("/.").rpartition("/")
            yield from ((page, method, f"{start}/{last}") for last in alternatives.split("|"))


@pytest.mark.parametrize(("page", "method", "path"), sorted(set(routes())))
def test_a_route_of_the_api_exists_with_this_method(page: str, method: str, path: str) -> None:
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
        assert not method or view is None or hasattr(view, method.lower()), (page, method, path)
        return
    pytest.fail(f"{page}: {path} is no route of the API.")


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


@pytest.mark.parametrize(("page", "words"), lines_of("pip", "install"))
def test_an_extra_of_the_package_exists(page: str, words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in words:
        for names in re.findall(r"^\.\[(.+)\]$", word):
            assert set(names.split(",")) <= extras.keys(), page


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_exist(page: str) -> None:
    """A file may be named by the end of its path, such as policies/toolkit/prices.py."""
    missing = []
    for piece in inline_code(page):
        for name in FILE_NAME.findall(piece.partition("::")[0]):
            if name in OF_USERS or "://" in piece:
                continue
            pattern = re.sub(r"<\w+>|\{.*\}", "*", name)
            if not any(fnmatch(file, pattern) or fnmatch(file, f"*/{pattern}") for file in files()):
                missing.append(name)
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_the_files_of_the_repository_that_a_command_line_takes_exist(page: str) -> None:
    tops = {file.partition("/")[0] for file in files() if "/" in file}
    words = [word for line in commands(page) for word in line if word.partition("/")[0] in tops]
    named = [word for word in words if FILE_NAME.fullmatch(word) and "<" not in word]
    assert [name for name in named if name not in files()] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_folders_of_the_repository_that_a_page_names_exist(page: str) -> None:
    folders = {str(parent) for file in files() for parent in Path(file).parents}
    tops = {folder for folder in folders if "/" not in folder}
    named = [piece.rstrip("/") for piece in inline_code(page) if re.fullmatch(r"[\w.-]+/(?:[\w.-]+/)*[\w.-]*", piece)]
    ours = [name for name in named if name.partition("/")[0] in tops]
    assert [name for name in ours if name not in folders | files() | BUILT] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in heading_anchors(str(target.resolve().relative_to(ROOT)))):
            broken.append(link)
    assert broken == []
