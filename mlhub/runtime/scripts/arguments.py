# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters as a script's command line: argparse and click options that it declares are given the job's values.

A script that calls mlhub.runtime.hyperparameters() needs none of it. Options are found by reading the code, so that
nothing is passed that the script would refuse. A value may name what only the pod knows: $MLHUB_DATASET, $WORLD_SIZE.
Standard library only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

DECLARING = {"add_argument", "option"}  # argparse's method, click's decorator
FLAGS = {"store_true": True, "store_false": False}
EPOCHS = ("epochs", "num_train_epochs", "max_epochs", "num_epochs", "n_epochs", "nb_epochs")
COUNTS = ("epochs", "batch_size")  # which MLHub chooses for a job that leaves them out
MAX_COUNT = 100_000
VERBATIM = "arguments"  # a hyperparameter that is passed on as it is, for scripts that read their options otherwise
# names of the pod's variables that values may have; any other $ stands for itself
KNOWN = r"MLHUB_[A-Z0-9_]+|WORLD_SIZE|RANK|LOCAL_RANK|NODE_RANK|MASTER_ADDR|MASTER_PORT"
VARIABLE = re.compile(rf"\$(?:\{{({KNOWN})\}}|({KNOWN})(?![A-Za-z0-9_]))")


@dataclass(frozen=True)
class Option:
    """flag: its longest spelling; spellings: all of them, such as -e. is_set_by: None for one that takes a value; else
    what passing it means. opposite: of an option that is on or off, how it is turned off. default: where the code has
    it as a constant."""

    flag: str
    is_set_by: bool | None = None
    opposite: str | None = None
    default: Any = None
    spellings: tuple[str, ...] = ()


def command_line(script: Path, values: Mapping[str, Any], *, variables: Mapping[str, str] | None = None) -> list[str]:
    """sys.argv[1:] of the script: the values that it has options for, and what `arguments` lists.

    An option that `arguments` gives is not given a second time. variables: of the pod; a name such as $WORLD_SIZE in a
    value is replaced by its value, where it has one.
    """
    options = declared(script)
    words = [] if VERBATIM in options else words_of(values)
    spelled = {word.partition("=")[0] for word in words}
    found: list[str] = []
    for name, value in values.items():
        if name in options and value is not None and spelled.isdisjoint(options[name].spellings):
            found += _given(options[name], value)
    return [_expanded(word, variables or {}) for word in found + words]


def words_of(values: Mapping[str, Any]) -> list[str]:
    """What the hyperparameter `arguments` passes on, word by word."""
    verbatim = values.get(VERBATIM)
    if not isinstance(verbatim, Sequence):
        return []
    return verbatim.split() if isinstance(verbatim, str) else [str(word) for word in verbatim]


def without_option(script: Path, given: Mapping[str, Any]) -> list[str]:
    """Names that a script with options has none for, such as a misspelt one. None where it may read them by itself."""
    options = declared(script)
    if not options or b"hyperparameters" in script.read_bytes():
        return []
    return sorted(name for name in given if name not in options and name != VERBATIM)


def only_options(script: Path, *, code: Path) -> list[str] | None:
    """The names of all hyperparameters that can reach a script; None where its code may read them by itself, or none of
    its options is known. code: the folder of all its files."""
    options = declared(script)
    if not options or any(b"hyperparameters" in path.read_bytes().lower() for path in code.rglob("*.py")):
        return None
    return sorted(options)


def declared(script: Path) -> dict[str, Option]:
    """The options of a script by name, with _ for -; of one that cannot be read: none."""
    try:
        tree = ast.parse(script.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[str, Option] = {}
    for call in _calls(tree):
        words = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        flags = [word for word in words if word.startswith("--") and len(word) > 2]
        if not flags:
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        option = replace(
            _option(max(flags, key=len), given), spellings=tuple(part for word in words for part in word.split("/"))
        )
        for flag in flags:  # "--lr", "--learning-rate"
            found[flag.partition("/")[0][2:].replace("-", "_")] = option
        if isinstance(named := given.get("dest"), ast.Constant):
            found[str(named.value)] = option
    return found


def own_counts(options: Mapping[str, Option]) -> dict[str, int]:
    """The epochs and the batch size that a script trains with when it is given none, where its options say so."""
    defaults = {name: options[name].default for name in COUNTS if name in options}
    return {name: default for name, default in defaults.items() if is_count(default)}


def counts_in(words: Sequence[str]) -> dict[str, int]:
    """The epochs and the batch size that words of a command line give: --epochs 3, --batch-size=32. The last counts."""
    found: dict[str, int] = {}
    for i, word in enumerate(words):
        flag = word.partition("=")[0]
        name = flag[2:].replace("-", "_")
        if not flag.startswith("--") or name not in COUNTS:
            continue
        if (count := _whole(_value_at(words, i))) is not None:
            found[name] = count
    return found


def epochs_of(script: Path, words: Sequence[str]) -> int | None:
    """How many epochs a script trains that is called with these words, by its options; None where they do not say."""
    options = declared(script)
    option = next((options[name] for name in EPOCHS if name in options), None)
    if option is None:
        return None
    given = [_value_at(words, i) for i, word in enumerate(words) if word.partition("=")[0] in option.spellings]
    return _whole(given[-1] if given else option.default)


def _whole(value: Any) -> int | None:
    """A count, also one that is written as 3 or 3.0; None for anything else."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() and is_count(int(number)) else None


def _value_at(words: Sequence[str], i: int) -> str:
    """What is behind = of a word, or the word after it."""
    _, has_value, value = words[i].partition("=")
    return value if has_value else words[i + 1] if i + 1 < len(words) else ""


def is_count(value: object) -> bool:
    """Whether a job may have it for its epochs or its batch size."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_COUNT


def _option(flag: str, given: Mapping[str | None, ast.expr]) -> Option:
    on, _, off = flag.partition("/")  # click writes --quiet/--loud
    if off:
        return Option(on, True, off)
    action = given.get("action")
    if isinstance(action, ast.Constant) and action.value in FLAGS:
        return Option(flag, FLAGS[action.value])
    if action is not None and "BooleanOptionalAction" in ast.unparse(action):
        return Option(flag, True, f"--no-{flag[2:]}")
    is_flag = given.get("is_flag")
    default = given.get("default")
    return Option(
        flag,
        True if isinstance(is_flag, ast.Constant) and is_flag.value else None,
        default=default.value if isinstance(default, ast.Constant) else None,
    )


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in DECLARING:
                yield node


def _given(option: Option, value: Any) -> list[str]:
    if option.is_set_by is not None and isinstance(value, bool):
        if value == option.is_set_by:
            return [option.flag]
        return [option.opposite] if option.opposite else []
    values = value if isinstance(value, list | tuple) else [value]
    words = [str(each) for each in values]
    # --rate=-1: a value that begins with a dash would pass for an option
    return [f"{option.flag}={words[0]}"] if len(words) == 1 else [option.flag, *words]


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    return VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), word)
