# SPDX-License-Identifier: Apache-2.0
"""The operations of the OpenAPI schema, as methods of the client's resources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PREFIX = "/api/v1"
WHOLE = {
    "list": "list",
    "create": "create",
    "retrieve": "get",
    "partial_update": "update",
    "update": "set",
    "destroy": "delete",
}
CURSOR_OF_STREAMS = "last_event_id"  # the client sends it as a header
SENT_BY_THE_CLIENT = {"cursor", "limit"}  # pages are followed; `limit` of a list is page_size
# Where the rule of method_of() gives a name that says too little, or that a hand-written method needs.
METHODS = {
    "jobs_create": "submit",
    "jobs_logs_retrieve": "log_page",
    "jobs_stream_retrieve": "stream",
    "jobs_artifacts_retrieve": "download_artifact",
    "runs_artifacts_retrieve": "download_artifact",
    "jobs_checkpoints_weights_retrieve": "download_weights",
    "jobs_checkpoints_delete_create": "delete_checkpoints",
    "jobs_compare_curves_create": "compare_curves",
    "jobs_compare_metrics_create": "compare_metrics",
    "datasets_create_by_reference": "create_by_reference",
    "datasets_references_create": "create_version_by_reference",
    "deliveries_send_create": "send",
    "scheduler_replays_jobs.csv_retrieve": "download_replayed_jobs",
    "scheduler_replays_retrieve": "replay",
    "stream_retrieve": "follow",
    "dataset_versions_trained_list": "list_trained",
    "dataset_versions_columns_create": "choose_columns",
    "what_if_create": "ask",
    "cluster_nodes_cordon_create": "cordon",
    "cluster_nodes_drain_create": "drain",
    "cluster_nodes_uncordon_create": "uncordon",
    "models_predict_create": "predict_newest",
    "models_versions_predict_create": "predict",
    "models_versions_lineage_retrieve": "lineage",
    "models_versions_export_retrieve": "download_export",
    "organisations_quota_restore_create": "restore_quota",
    "teams_quota_restore_create": "restore_quota",
    "projects_quota_restore_create": "restore_quota",
    "users_sessions_destroy": "end_sessions",
    "scheduler_replays_cancel_create": "cancel_replay",
    "scheduler_settings_partial_update": "update_settings",
    "auth_notices_update": "set_notices",
    "auth_setup_create": "set_up",
}


@dataclass(frozen=True)
class Operation:
    """content: the type of the answer's body, "" for none. answer: the schema of JSON."""

    id: str
    verb: str
    path: str
    resource: str
    method: str
    description: str
    query: list[dict[str, Any]]
    body_type: str
    body: dict[str, Any]
    content: str
    answer: dict[str, Any]
    has_key: bool

    @property
    def path_names(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)


def operations_of(schema: dict[str, Any]) -> list[Operation]:
    """All of the schema, in its order. Raises ValueError where two would be one method."""
    found = [_operation(path, verb, spec, schema) for path, verb, spec in specs_of(schema)]
    seen: dict[tuple[str, str], str] = {}
    for operation in found:
        key = (operation.resource, operation.method)
        if key in seen:
            raise ValueError(f"{operation.id} and {seen[key]} would both be {key}; name one of them in METHODS.")
        seen[key] = operation.id
    return found


def specs_of(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in schema["paths"].items():
        for verb, spec in item.items():
            if verb != "parameters":
                yield path, verb, spec


def _operation(path: str, verb: str, spec: dict[str, Any], schema: dict[str, Any]) -> Operation:
    body_type, body = next(iter(spec.get("requestBody", {}).get("content", {}).items()), ("", {}))
    content, answer = _answer(spec)
    parameters = spec.get("parameters", [])
    resource = spec["tags"][0].replace("-", "_")
    return Operation(
        id=spec["operationId"],
        verb=verb.upper(),
        path=path.removeprefix(PREFIX),
        resource=resource,
        method=method_of(spec["operationId"], resource, content, has_get="get" in schema["paths"][path]),
        description=spec.get("description", ""),
        query=[p for p in parameters if p["in"] == "query" and p["name"] != CURSOR_OF_STREAMS],
        body_type=body_type,
        body=body.get("schema", {}),
        content=content,
        answer=answer,
        has_key=any(p["name"] == "Idempotency-Key" for p in parameters),
    )


def _answer(spec: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The type and schema of what a success returns."""
    for status in ("200", "201", "202"):
        for content, found in spec["responses"].get(status, {}).get("content", {}).items():
            return content, found.get("schema", {})
    return "", {}


def method_of(operation_id: str, resource: str, content: str, *, has_get: bool) -> str:
    """jobs_list: list; jobs_pause_create: pause; organisations_members_create: create_member; jobs_result_retrieve of
    bytes: download_result."""
    if operation_id in METHODS:
        return METHODS[operation_id]
    rest = operation_id.removeprefix(resource).lstrip("_")
    verb = next(v for v in ("partial_update", "retrieve", "destroy", "update", "create", "list") if rest.endswith(v))
    noun = rest.removesuffix(verb).rstrip("_")
    if content and content not in ("application/json", "text/event-stream"):
        return "_".join(["download", *(part for part in noun.split("_") if part not in ("", "download"))])
    if not noun:
        return WHOLE[verb]
    if verb == "retrieve" or (verb == "create" and not has_get):
        return noun
    if verb == "list":
        return f"list_{noun}"
    return f"{WHOLE[verb]}_{_one_of(noun)}"


def _one_of(noun: str) -> str:
    if noun.endswith("ies"):
        return noun.removesuffix("ies") + "y"
    return noun.removesuffix("es") if noun.endswith("ses") else noun.removesuffix("s")
