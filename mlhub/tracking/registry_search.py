# SPDX-License-Identifier: Apache-2.0
"""Search of registered models and their versions, by name, tag, run and stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlhub.registry.models import Model, ModelVersion
from mlhub.tracking.access import Caller
from mlhub.tracking.filters import SearchRow, in_order, read_filter, read_orders
from mlhub.tracking.model_descriptions import registered_version, stage_of
from mlhub.tracking.registered import shown_names

IS_PROMPT = "mlflow.prompt.is_prompt"  # a tag that clients of MLflow 3 ask not to be "true", whatever they search
OF_MODELS = {
    "name": "name", "creation_timestamp": "start_time", "timestamp": "updated_time",
    "last_updated_timestamp": "updated_time",
}  # fmt: skip
OF_VERSIONS = {
    **OF_MODELS, "version_number": "number", "version": "number", "run_id": "run_id", "source": "source",
    "source_path": "source", "stage": "stage", "current_stage": "stage", "user_id": "user_id",
}  # fmt: skip


def search_models(
    caller: Caller, *, text: str, orders: Sequence[str], offset: int, limit: int
) -> tuple[list[tuple[Model, str]], bool]:
    """Models with the caller's names for them, by name unless orders are given; whether there are more."""
    models = {str(model.pk): model for model in caller.registered_models.order_by("name", "id")}
    names = shown_names(caller, list(models.values()))
    rows = []
    for pk, model in models.items():
        made = int(model.created_at.timestamp() * 1000)
        rows.append((SearchRow(pk, {"name": names[model.pk], "start_time": made, "updated_time": made}), model.labels))
    page, has_more = _found(rows, text, orders or ["name ASC"], OF_MODELS, offset=offset, limit=limit)
    full = caller.registered_models.filter(pk__in=page).prefetch_related(
        "versions__aliases", "versions__created_by", "versions__model__project"
    )
    loaded = {str(model.pk): model for model in full}
    return [(loaded[pk], names[loaded[pk].pk]) for pk in page if pk in loaded], has_more


def search_versions(
    caller: Caller, *, text: str, orders: Sequence[str], offset: int, limit: int
) -> tuple[list[tuple[ModelVersion, str]], bool]:
    """Versions with the caller's names for their models, the newest first; whether there are more."""
    related = ("model__project", "created_by")
    found = ModelVersion.objects.filter(model__in=caller.registered_models).select_related(*related)
    versions = {str(version.pk): version for version in found.prefetch_related("aliases")}
    names = shown_names(caller, list({version.model_id: version.model for version in versions.values()}.values()))
    rows = []
    for pk, version in versions.items():
        about = registered_version(version, names[version.model_id])
        attributes = {
            **{name: about[name] for name in ("name", "run_id", "source", "user_id")},
            "number": version.number,
            "stage": stage_of(version),
            "start_time": about["creation_timestamp"],
            "updated_time": about["last_updated_timestamp"],
        }
        rows.append((SearchRow(pk, attributes), version.labels))
    page, has_more = _found(rows, text, orders, OF_VERSIONS, offset=offset, limit=limit)
    return [(versions[pk], names[versions[pk].model_id]) for pk in page], has_more


def _found(
    rows: Sequence[tuple[SearchRow, Mapping[str, str]]],
    text: str,
    orders: Sequence[str],
    attributes: Mapping[str, str],
    *,
    offset: int,
    limit: int,
) -> tuple[list[str], bool]:
    comparisons, sorting = read_filter(text, attributes=attributes), read_orders(orders, attributes=attributes)
    columns = {c.column for c in comparisons} | {o.column for o in sorting}
    for row, labels in rows:
        found_tags = {IS_PROMPT: "false", **labels}
        row.values.update({column: found_tags.get(column.key) for column in columns if column.kind == "tags"})
    found = [row for row, _ in rows if all(c.holds(row.get(c.column)) for c in comparisons)]
    page = in_order(found, sorting)[offset : offset + limit]
    return [row.run_id for row in page], len(found) > offset + limit
