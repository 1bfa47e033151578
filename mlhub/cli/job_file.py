# SPDX-License-Identifier: Apache-2.0
"""A job as a YAML file: the fields of POST /api/v1/jobs, with names instead of ids, and paths of data and code."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mlhub.cli import core_yaml
from mlhub.cli.failures import CommandError

SETTINGS = (
    "name", "kind", "datasets", "epochs", "batch_size", "hyperparameters", "mode", "strategy", "min_workers",
    "max_workers", "priority", "resources", "limits", "seed", "target_metric", "target_value", "environment",
    "secrets", "image", "features", "output", "examples",
)  # fmt: skip
OF_TRAINING = ("epochs", "hyperparameters", "mode", "strategy", "seed", "target_metric", "target_value")
OF_PREDICTION = ("features", "output", "examples")
# settings that jobs of a kind do not take
FOREIGN = {"train": (), "notebook": (*OF_TRAINING, *OF_PREDICTION, "batch_size", "min_workers", "max_workers")}
REFERENCES = ("project", "dataset", "dataset_version", "model", "model_version", "model_of")
BROUGHT = ("data", "format", "code", "entry", "requirements", "target")


@dataclass(frozen=True)
class JobFile:
    """settings and references: as in the API; names are allowed as references.

    data: a file or folder to upload as the dataset; format: its format, else by what it is; target: the column of a
    table to predict. code: a Python file or a folder to upload as the model, which `model` then names; entry: its
    script or module; requirements: a file of packages that takes the place of those that the code declares.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    data: Path | None = None
    format: str = ""
    code: Path | None = None
    entry: str = ""
    requirements: Path | None = None
    target: str = ""

    def over(self, other: JobFile) -> JobFile:
        """The fields of both; where both have one, this one's. Of mappings: entry by entry."""
        return JobFile(
            settings={**other.settings, **{n: _joined(n, v, other.settings.get(n)) for n, v in self.settings.items()}},
            references={**other.references, **self.references},
            data=self.data or other.data,
            format=self.format or other.format,
            code=self.code or other.code,
            entry=self.entry or other.entry,
            requirements=self.requirements or other.requirements,
            target=self.target or other.target,
        )


def read(path: Path) -> JobFile:
    """Paths in the file are relative to the file. Raises CommandError naming the field and the remedy."""
    try:
        content = core_yaml.load(path.read_text())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} is no YAML: {error}") from error
    if not isinstance(content, dict):
        raise CommandError(f"{path} must be a mapping of fields, such as `epochs: 10`.")
    return parsed(content, folder=path.parent, where=str(path))


def parsed(content: dict[str, Any], *, folder: Path, where: str) -> JobFile:
    """Raises CommandError for a field that no job has."""
    known = (*SETTINGS, *REFERENCES, *BROUGHT)
    for name in content:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            raise CommandError(
                f"{where}: a job has no field `{name}`.",
                remedy=f"Did you mean `{near[0]}`?" if near else f"Fields are {', '.join(known)}.",
            )
    for name in ("entry", "target", "format", *REFERENCES, "data", "code", "requirements"):
        if name in content and not isinstance(content[name], str):
            raise CommandError(f"{where}: `{name}` must be text.")
    _check_environment(content, where=where)
    _check_values(content, where=f"{where}: ")
    return JobFile(
        settings={n: content[n] for n in SETTINGS if n in content},
        references={n: content[n] for n in REFERENCES if n in content},
        data=folder / content["data"] if "data" in content else None,
        format=content.get("format", ""),
        code=folder / content["code"] if "code" in content else None,
        entry=content.get("entry", ""),
        requirements=folder / content["requirements"] if "requirements" in content else None,
        target=content.get("target", ""),
    )


def _joined(name: str, value: Any, beneath: Any) -> Any:
    """value over beneath. A strategy that is named takes no parameter of another one."""
    if not (isinstance(value, dict) and isinstance(beneath, dict)) or (name == "strategy" and "name" in value):
        return value
    return {**beneath, **value}


def _check_environment(content: dict[str, Any], *, where: str) -> None:
    """Raises CommandError for a variable whose value YAML reads as something else than text: no, 1e3, 010."""
    variables = content.get("environment", {})
    if not isinstance(variables, dict):
        raise CommandError(f"{where}: `environment` must be a mapping of names to values.")
    for name, value in variables.items():
        if not isinstance(value, str):
            raise CommandError(f"{where}: `environment.{name}` must be text.", remedy=f'Write it as {name}: "...".')


def _check_values(content: Any, *, where: str = "", path: str = "", within: tuple[int, ...] = ()) -> None:
    """Raises CommandError for what YAML has and JSON has not: .inf, .nan, bytes, a mapping that holds itself."""
    if isinstance(content, dict | list) and id(content) not in within:
        for name, value in content.items() if isinstance(content, dict) else enumerate(content):
            _check_values(
                value, where=where, path=f"{path}.{name}" if path else str(name), within=(*within, id(content))
            )
        return
    if isinstance(content, float) and not math.isfinite(content):
        raise CommandError(f"{where}`{path}` must be a finite number.", remedy="Leave it out, or write a number.")
    if not (content is None or isinstance(content, str | int | float)):
        raise CommandError(
            f"{where}`{path}` is nothing that JSON can hold.", remedy="Write text, numbers, lists or mappings."
        )


def with_changes(content: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """content with each `field=value` or `field.name=value`; values are YAML (20, true, {a: 1}, text).

    Raises CommandError for what is not written so, and for a value that no request can hold.
    """
    changed = dict(content)
    for change in changes:
        path, separator, text = change.partition("=")
        if not (separator and path):
            raise CommandError(f"{change!r} is no field=value.", remedy="Write it as in `--set epochs=20`.")
        try:
            value = core_yaml.load(text)
        except yaml.YAMLError as error:
            raise CommandError(f"The value of {path} is no YAML: {error}") from error
        name, _, inner = path.partition(".")
        if inner:
            changed[name] = {**(changed.get(name) or {}), inner: value}
        else:
            changed[name] = value
    _check_values(changed)
    return changed


def of_job(job: dict[str, Any]) -> dict[str, Any]:
    """The content of a file that submits a job of the API again: same versions, same settings."""
    found: dict[str, Any] = {"project": job["project"]["id"]}
    is_notebook = job.get("kind") == "notebook"
    for version in ("dataset_version", "model_version"):
        if job[version] and not (is_notebook and version == "model_version"):
            found[version] = job[version]["id"]
    asked = job.get("prediction") or {}
    foreign = FOREIGN.get(job.get("kind", "train"), OF_TRAINING)
    for name in SETTINGS:
        if name in foreign:
            continue  # the API shows what the platform chose, and refuses it in a request
        value = asked.get(name) if name in OF_PREDICTION else job.get(name)
        if name == "datasets":
            value = {one["name"]: one["version"] for one in value or []}
        if isinstance(value, dict):
            value = {inner: v for inner, v in value.items() if v is not None}
        if value not in (None, "", {}, []):
            found[name] = value
    return found


def dumped(content: dict[str, Any]) -> str:
    return core_yaml.dump(content)
