# SPDX-License-Identifier: Apache-2.0
"""NAME@ALIAS and NAME:NUMBER in a job's request: the version that they mean."""

from __future__ import annotations

import re
from itertools import chain

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.registry.models import Model, ModelVersion, name_of_trained
from mlhub.tenants.models import Project, User

VERSION_NAME = re.compile(r"(?P<model>.+)(?:(?P<alias>@[^@]*)|:(?P<number>[0-9]+))", re.DOTALL)


def version_named(user: User, name: str, project: Project) -> ModelVersion | None:
    """The version of that name; None for what is no such name, or the whole name of a model.

    With the name of a built-in model it may also be what the project has trained of that: mlp@best is
    mlp (trained)@best. Raises NotFoundError, and InvalidInputError where both have such a version.
    """
    written = VERSION_NAME.fullmatch(name)
    if written is None or Model.objects.visible_to(user).filter(name=name).exists():
        return None
    model = Model.objects.get_named(user, written["model"], field="model", project=project.pk)
    version = written["alias"] or written["number"]
    meant = [model] if model.project_id is not None else [model, *_trained_of(user, model, project)]
    found = list(chain.from_iterable(_of_model(user, one, version) for one in meant))
    names = " or of ".join(one.name for one in meant)
    if not found:
        raise NotFoundError(f"There is no version {version[:100]} of {names}.", field="model")
    if len(found) > 1:
        suffix = version if version.startswith("@") else f":{version}"
        raise InvalidInputError(
            f"{name} may be a version of {names}.",
            field="model",
            remedy=f"Name {meant[1].name}{suffix} for what was trained; "
            f"{model.name} for its code alone, or model_version: {found[0].pk}.",
        )
    return found[0]


def _trained_of(user: User, built_in: Model, project: Project) -> list[Model]:
    """What was trained of a built-in model, in the project or in the only other one that has trained it."""
    try:
        name = name_of_trained(built_in.name)
        return [Model.objects.get_named(user, name, field="model", project=project.pk)]
    except NotFoundError:
        return []


def _of_model(user: User, model: Model, version: str) -> list[ModelVersion]:
    versions = ModelVersion.objects.select_related("model__project__organisation", "code_version")
    try:
        return [versions.get_of_model(user, model.pk, version)]
    except NotFoundError:
        return []
