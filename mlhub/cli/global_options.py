# SPDX-License-Identifier: Apache-2.0
"""Options of every command, such as --project, may stand after the command, too."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from typer.core import TyperCommand, TyperGroup, TyperOption

END = "--"  # what follows it is no option
_behind_end: ContextVar[tuple[str, ...]] = ContextVar("behind_end", default=())


def moved_to_front(root: TyperGroup, argv: Sequence[str]) -> list[str]:
    """argv with the root's options before the command, but for those that the command has itself."""
    own = _options(root)
    command: TyperGroup | TyperCommand = root
    front, rest = list[str](), list[str]()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == END:
            rest += [word, *words]
            break
        name, _, attached = word.partition("=")
        taken = _options(command) if command is not root else {}
        if name in own and name not in taken:
            needs_word = own[name] and not attached
            if needs_word and not words:
                rest.append(word)  # where the error belongs: its value is missing
                break
            front += [word, words.pop(0)] if needs_word else [word]
        elif name in taken:
            rest.append(word)
            if taken[name] and not attached and words:
                rest.append(words.pop(0))
        else:
            rest.append(word)
            below = command.commands.get(word) if isinstance(command, TyperGroup) else None
            if isinstance(below, TyperGroup | TyperCommand):
                command = below
    return [*front, *rest]


def keep_words_behind_end(argv: Sequence[str]) -> None:
    """Keeps what stands behind `--`, which the parser does not tell from what is before it."""
    words = list(argv)
    _behind_end.set(tuple(words[words.index(END) + 1 :]) if END in words else ())


def words_behind_end() -> list[str]:
    """The words of this command behind `--`, as they were typed."""
    return list(_behind_end.get())


def _options(command: TyperGroup | TyperCommand) -> dict[str, bool]:
    """By each name, whether a value follows. --help is of each command."""
    return {
        name: not (parameter.is_flag or parameter.count)
        for parameter in command.params
        if isinstance(parameter, TyperOption) and "--help" not in parameter.opts
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
