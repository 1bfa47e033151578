# SPDX-License-Identifier: Apache-2.0
"""mlhub completion: the script that completes commands, and which names the platform has for their arguments."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import httpx
import typer
from typer.completion import get_completion_script  # what --show-completion prints, for the shell that it finds

from mlhub.cli import credentials
from mlhub.cli.failures import CommandError
from mlhub.client.api import Api, Refused

PATIENCE_S = 2.0  # somebody waits for it with a half-typed line
MOST_NAMES = 200


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    context: typer.Context,
    shell: Annotated[Shell, typer.Argument(help="The shell that completes.")] = Shell.BASH,
) -> None:
    """Print the script that completes commands; in bash: `source <(mlhub completion bash)`."""
    names = {"prog_name": "mlhub", "complete_var": "_MLHUB_COMPLETE", "shell": shell.value}
    print(get_completion_script(**names))
    if shell is Shell.FISH:
        print(_no_files(context.find_root().command))


def _no_files(program: Any) -> str:
    """The line by which fish offers no files behind commands that take none, where there is no name to offer."""
    takes_files = {name: _takes_files(command) for name, command in program.commands.items()}
    without = " ".join(name for name, takes in takes_files.items() if not takes)
    others = " ".join(name for name, takes in takes_files.items() if takes)
    condition = f"__fish_seen_subcommand_from {without}; and not __fish_seen_subcommand_from {others}"
    return f"complete --command mlhub --no-files --condition '{condition}'"


def _takes_files(command: Any) -> bool:
    """Whether the command, or one of its group, has a parameter that is a path."""
    is_path = any(param.type.name == "path" for param in command.params)
    return is_path or any(_takes_files(each) for each in getattr(command, "commands", {}).values())


def names_of(collection: str) -> Callable[[typer.Context, str], list[str]]:
    """What completes the name of an object of a collection ("jobs", "datasets" ...), the newest objects first.

    It answers with nothing where the platform cannot be asked: an error would stand in the line that is being typed.
    Names with spaces are left out, since shells would take them for several words.
    """

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        given = context.find_root().params
        try:
            found = credentials.find(given.get("url"), given.get("token"))
            if not found.token:
                return []
            api = Api(found.url, found.token, patience_s=PATIENCE_S)
            query = {"search": incomplete} if collection == "jobs" and incomplete else {}
            rows = api.get(f"/{collection}", limit=MOST_NAMES, **query)["results"]
        except (CommandError, Refused, httpx.HTTPError):
            return []
        names = dict.fromkeys(str(row["name"]) for row in rows)
        return [name for name in names if name.startswith(incomplete) and not any(c.isspace() for c in name)]

    return complete
