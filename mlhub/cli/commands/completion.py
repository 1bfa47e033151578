# SPDX-License-Identifier: Apache-2.0
"""mlhub completion: the script that completes commands, for shells that are set up by files and images."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # what --show-completion prints, for the shell that it finds


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that completes.")] = Shell.BASH) -> None:
    """Print the script that completes commands; in bash: `source <(mlhub completion bash)`."""
    names = {"prog_name": "mlhub", "complete_var": "_MLHUB_COMPLETE", "shell": shell.value}
    print(get_completion_script(**names))
