# SPDX-License-Identifier: Apache-2.0
"""Answers of the REST API made from its schema, so that every page of the dashboard can be drawn without a platform.

A list has entries of every value of its enumerations; what the schema leaves open (statistics, curves) is in `FIELDS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from tests.e2e import resource_use, scene, scene_timeline

SCHEMA = Path(__file__).resolve().parents[2] / "frontend" / "openapi.yaml"
Content = Literal["usual", "empty", "huge"]
ID = "00000000-0000-7000-8000-0000000000f1"
LONG = "transformer-encoder_wmt14-en-de_large-batch_cosine-warm-restarts_label-smoothing_attempt-of-thursday"
RUNS = scene.compared_runs()
NAMES = ("digits-cnn", "bert-large-squad", "Résumé classifier", "resnet50-imagenet", LONG)
SENTENCE = "All 8 GPUs of rack-1 are in use; it needs 4 on one node, and quota is left for 2."
UNBROKEN = "wmt14" * 40  # 200 characters without a place to break
ARABIC, HEBREW = "مصنف الصور الطبية للمستشفى الجامعي", "מסווג תמונות רפואיות ResNet 50 (ניסוי שני)"
N_LISTED, N_HUGE, N_NESTED, N_POINTS = 8, 60, 3, 80
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def table_statistics() -> dict[str, Any]:
    """Of a column of each type, the first one with a long name."""
    histogram = {"edges": [0.0, 1.0, 2.0, 3.0, 4.0], "counts": [4, 90, 41, 3]}
    types = ("number", "category", "date", "identifier", "text", "constant", "empty")
    columns = [
        {"name": f"{kind} {i or LONG}", "type": kind, "role": "target" if i == 1 else "input",
         "used_as": "number", "treatment": "Standardised; empty cells become the mean.", "n_missing": 12 * i,
         "n_distinct": 40, "examples": ["4.5", "a longer example of a cell", "7"], "min": 0.5, "max": 4.25,
         **({"histogram": histogram} if kind in ("number", "date") else {}),
         "top": [{"value": "yes", "n": 90}, {"value": LONG, "n": 48}] if kind == "category" else []}
        for i, kind in enumerate(types)
    ]  # fmt: skip
    problem = {"column": types[6], "message": "Every cell is empty.", "remedy": "Leave the column out."}
    return {"kind": "table", "n_rows": 138, "columns": columns, "problems": [problem]}


GPU_TYPES = ("A100", "V100")
METRICS = ("train/loss", "eval/accuracy", "eval/f1_macro_of_the_validation_split")
PARAMETERS = {"lr": 0.00125, "optimizer": "adamw", "hidden_units": 512}
SPACE = {
    "lr": {"log_uniform": [1e-5, 0.1]},
    "optimizer": {"choice": ["sgd", "adamw"]},
    "hidden_units": {"int": [16, 512]},
}
DATASET_SCHEMA = {
    "task": "classification", "n_examples": 1797, "n_classes": 3, "classes": ["no", "yes", LONG], "input_shape": [4],
    "columns": [{"name": "width", "mean": 3.2, "std": 1.1}, {"name": "colour", "categories": ["red", LONG]}],
}  # fmt: skip
# what the schema does not say, by the name of a schema and of its field
FIELDS: dict[tuple[str, str], Any] = {
    ("Me", "is_staff"): True,
    ("Me", "impersonation"): None,
    ("Admission", "is_paused"): False,
    ("CurrentAnnouncements", "announcements"): [],
    ("SignInMethods", "passkey_origin"): "http://localhost:8000",
    ("MembershipBrief", "role"): "owner",
    ("MyMembership", "role"): "owner",
    ("SetupStatus", "is_needed"): False,
    ("Organisation", "archived_at"): None,
    ("OrganisationDetail", "archived_at"): None,
    ("Project", "archived_at"): None,
    ("DatasetVersion", "state"): "ready",
    ("ModelVersion", "state"): "ready",
    ("ModelVersionDetail", "state"): "ready",
    ("ModelVersionDetail", "not_exportable"): None,
    ("Environment", "state"): "ready",
    ("EnvironmentBrief", "state"): "ready",
    ("DatasetVersion", "schema"): DATASET_SCHEMA,
    ("DatasetVersion", "options"): {"target": "label", "delimiter": ";"},
    ("DatasetVersion", "preview"): {
        "kind": "table", "columns": ["width", "colour", "label"], "rows": [[0.5, LONG, "yes"], [1.25, "red", None]],
    },
    ("DatasetVersion", "statistics"): table_statistics(),
    ("Node", "message"): "",
    ("Node", "maintenance"): None,
    ("Node", "exclusion"): None,
    ("Node", "is_ready"): True,
    ("Node", "is_schedulable"): True,
    ("Node", "servers"): [],
    ("JobDetail", "notes"): "Learning rate by the linear rule; the next run warms up for 500 steps.",
    ("JobDetail", "tags"): ["baseline", "thesis"],
    ("JobDetail", "waited_s"): 1560.0,
    ("JobDetail", "trained_s"): 5040.0,
    ("JobDetail", "jct_s"): None,
    ("JobDetail", "batch_size"): 256,
    ("PlannedRun", "nodes"): ["node-a1"],
    ("PlannedRun", "mode"): "all_reduce",
    ("PlannedRun", "gpu_hours"): 3.2,
    ("PlanAlternative", "gpu_hours_delta"): 0.8,
    ("PlanAlternative", "finish_delta_s"): -700.0,
    ("QuotaEffect", "used_gpus_with_job"): 6,
    ("QuotaEffect", "max_gpus"): 16,
    ("OrganisationBrief", "name"): "vision",
    ("ProjectBrief", "name"): "diagnosis",
    ("JobDetail", "state"): "running",
    ("JobDetail", "failure"): None,
    ("JobDetail", "result_version"): None,
    ("JobDetail", "finished_at"): None,
    ("JobDetail", "steps_done"): 1600,
    ("JobDetail", "steps_total"): 3800,
    ("JobDetail", "dropped"): [],
    ("JobDetail", "removed_parts"): [],
    ("ComparedCurves", "curves"): scene.compared_curves(),
    ("ComparedRuns", "runs"): RUNS["runs"],
    ("ComparedRuns", "params"): RUNS["params"],
    ("ComparedRuns", "metrics"): RUNS["metrics"],
    ("ComparedRuns", "n_params"): 3,
    ("ComparedRuns", "n_metrics"): 2,
    ("ComparedRuns", "missing"): [],
    ("ComparedRuns", "left"): [],
    ("ComparedRunCurves", "curves"): RUNS["curves"],
    ("ComparedRunCurves", "left"): [],
    ("ComparedImportance", "parameters"): [
        {"name": "lr", "share": 0.71, "n": 12, "correlation": -0.84},
        {"name": "optimizer", "share": 0.2, "n": 12, "correlation": None},
        {"name": "width", "share": 0.03, "n": 11, "correlation": 0.17},
    ],
    ("ComparedImportance", "n_rows"): 12,
    ("ComparedImportance", "needed"): 10,
    ("ComparedImportance", "method"): "Share of the variance of the results' ranks that the hyperparameter explains.",
    ("BackendStatus", "name"): "agents",
    ("BackendStatus", "away_since"): None,
    ("Agents", "results"): scene.AGENTS,
    ("Agents", "version"): "0.2.0",
    ("Agents", "takeover_s"): 37,
    ("Agents", "ends_within_s"): 51,
    ("PlatformSettings", "settings"): scene.SETTINGS,
    ("Cluster", "ledger_failing_since"): None,
    ("Cluster", "overcommitted"): [],
    ("JobDetail", "epochs"): 10,
    ("JobDetail", "epoch"): 4.21,
    ("JobDetail", "step_s"): 0.213,
    ("Series", "points"): scene.curve(N_POINTS, attempt_number=1),
    ("RunCurve", "points"): scene.curve(N_POINTS, timestamp="2026-11-20T10:00:00Z"),
    ("MetricNames", "names"): [
        {"key": key, "n_points": N_POINTS, "last_step": 1600, "last_value": 0.21, "attempt_number": 1}
        for key in METRICS
    ],
    ("Study", "settings"): {"epochs": 9, "batch_size": 64},
    ("Study", "space"): SPACE,
    ("Study", "rungs"): [1, 3, 9],
    ("Trial", "parameters"): PARAMETERS,
    ("Trial", "results"): [{"epochs": 3**rung, "step": 10 * 3**rung, "value": 0.6 + rung / 10} for rung in range(3)],
    ("RoundsStatus", "cause"): None,
    ("SchedulerStatus", "n_failures"): 0,
    ("SchedulerStatus", "fallback_since"): None,
    ("SchedulerStatus", "backend_away_since"): None,
    ("ModelVersion", "metrics"): {"eval/accuracy": 0.93, "eval/loss": 0.21},
    ("ModelVersion", "metadata"): {
        "classes": ["no", "yes", LONG], "format": "csv", "schema": DATASET_SCHEMA, "input_shape": [4],
    },
    ("Speed", "staleness"): [400, 120, 30, 4],
    ("UsageOverTime", "resources"): resource_use.resources(),
    ("UsageOverTime", "pods"): resource_use.pods(),
}  # fmt: skip
CRAFTED = ("owners", "slots", "attempts", "results")  # lists that tests.e2e.scene makes
ALWAYS = ("is_staff", "is_needed", "role", "state")  # those of FIELDS that count where nothing has happened, too
# what usual pages are without
MADE_WHEN_HUGE = {("Cluster", "overcommitted"), ("Me", "impersonation"), ("Admission", "is_paused"),
                  ("CurrentAnnouncements", "announcements")}  # fmt: skip
STRINGS: tuple[tuple[str, str], ...] = (
    (r"(^|_)(name|title|username|workspace|label)$", ""),  # of NAMES, in turn
    (r"sentence|headline|message|about|description|problem|reason_text|remedy|note", SENTENCE),
    (r"sha256|digest|hash", "ab" * 32),
    (r"email", "ada.lovelace@example.org"),
    (r"url", "https://example.org/hooks/mlhub"),
    (r"text|line", "epoch 3/10  step 120  loss 0.4211  2,141 examples/s"),
    (r"cursor|next|previous", ""),
    (r"currency", "EUR"),
    (r"metric|key", METRICS[0]),
)
NUMBERS: tuple[tuple[str, float], ...] = (
    (r"bytes", 3_221_225_472),
    (r"_bps", 25_000_000_000),
    (r"_s$|seconds", 754.25),
    (r"_ms$", 24),
    (r"progress|share|probability|importance|coverage|fraction|utilisation", 0.42),
    (r"useful_gpu_hours", 61.2),
    (r"startup_gpu_hours", 3.4),
    (r"lost_gpu_hours", 4.9),
    (r"measured_gpu_hours", 58.2),
    (r"busy_gpu_hours", 44.1),
    (r"idle_gpu_hours", 14.1),
    (r"gpu_hours|cost|price", 69.5),
)


@cache
def document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(SCHEMA.read_text(), Loader=yaml.CSafeLoader)
    return found


def answer(method: str, path: str, content: Content, query: dict[str, list[str]] | None = None) -> Any:
    """What the API returns there; KeyError where there is no such route, or one that returns nothing."""
    if path.endswith("/cluster/timeline") and content != "empty":
        return scene_timeline.large_timeline(LONG) if content == "huge" else scene_timeline.timeline()
    made = _made(method, path, content)
    if content != "empty" and (of_nodes := _of_nodes(path, made, is_huge=content == "huge")) is not None:
        return of_nodes
    return asked(made if content == "empty" else _believable(path, made, query or {}), query or {})


def _of_nodes(path: str, made: Any, *, is_huge: bool) -> Any:
    """What is cached on nodes: on many, of which as many are listed as the platform lists."""
    if re.search(r"/dataset-versions/[^/]+/caches$", path):
        names = [LONG, UNBROKEN, *(f"node-{at}" for at in range(48))] if is_huge else ["node-a1", "node-a2", "lab-3"]
        return scene.dataset_caches(made, names=names, n_nodes=1000 if is_huge else len(names))
    if re.search(r"/jobs/[^/]+/startup$", path):
        names = [LONG, UNBROKEN, *(f"node-{at}" for at in range(998))] if is_huge else ["node-a1", "node-a2"]
        return {**made, "inputs": scene.inputs_on_nodes(names)}
    return None


def _believable(path: str, made: Any, query: dict[str, list[str]]) -> Any:
    """With numbers that differ as those of real jobs do, where these are drawn."""
    if path.endswith("/jobs") and "id" in query:
        return {**made, "results": scene.compared_jobs(made["results"])}
    if path.endswith("/jobs/compare/metrics"):
        return {**made, "n_metrics": len(made["metrics"])}
    if re.search(r"/studies/[^/]+/trials$", path):
        return scene.trials(made)
    if re.search(r"/replays/[^/]+$", path):
        return scene.finished_replay(made)
    return made


def asked(answered: Any, query: dict[str, list[str]]) -> Any:
    """Only what was asked for of a list: entries in those states, no more than the limit."""
    if not isinstance(answered, dict):
        return answered
    if "racks" in answered:
        racks = scene.racks(answered["racks"])
        return {**answered, "racks": racks, **scene.links(racks)}
    if attempts := answered.get("attempts"):
        return {**answered, "current_attempt": attempts[-1]}
    if not isinstance(answered.get("results"), list):
        return answered
    results = answered["results"]
    if waits := query.get("is_waiting"):
        results = [entry for entry in results if (entry["state"] == "waiting") == (waits == ["true"])]
    if states := query.get("state"):
        results = [{**entry, "state": states[at % len(states)]} for at, entry in enumerate(results)]
        results = [_of_state(entry) for entry in results[: 2 * len(states) + 1]]
    return {**answered, "results": results[: int(query.get("limit", ["1000"])[0])]}


def _of_state(entry: dict[str, Any]) -> dict[str, Any]:
    """What does not fit the state of a job is not there."""
    absent = {
        "failure": entry["state"] != "failed",
        "finished_at": entry["state"] not in ("succeeded", "failed", "cancelled"),
    }
    return {name: None if absent.get(name, False) else value for name, value in entry.items()}


def _made(method: str, path: str, content: Content) -> Any:
    paths = document()["paths"]
    for pattern, operations in sorted(paths.items(), key=lambda one: one[0].count("{")):  # an address by itself first
        if method.lower() in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path):
            schema = operations[method.lower()]["responses"]["200"]["content"]["application/json"]["schema"]
            return Maker(content).value(schema, name="", at=0)
    raise KeyError(f"The schema has no {method} {path}.")


class Maker:
    """Makes a value of a schema; entry `at` of a list takes the `at`-th value of each enumeration."""

    def __init__(self, content: Content) -> None:
        self.content = content
        self.nodes = 0

    def n_nodes(self) -> int:
        """How many nodes were made before this one."""
        self.nodes += 1
        return self.nodes - 1

    def value(self, schema: dict[str, Any], *, name: str, at: int, owner: str = "") -> Any:
        if "$ref" in schema:
            called = schema["$ref"].rpartition("/")[2]
            return self.value(document()["components"]["schemas"][called], name=name, at=at, owner=called)
        if "enum" in schema:
            options = [option for option in schema["enum"] if option is not None]
            return options[at % len(options)]
        if "const" in schema:
            return schema["const"]
        if "allOf" in schema:
            return self.value(schema["allOf"][0], name=name, at=at, owner=owner)
        if options := schema.get("oneOf") or schema.get("anyOf"):
            return self.one_of(options, name=name, at=at, owner=owner)
        return self.typed(schema, name=name, at=at, owner=owner)

    def one_of(self, options: list[dict[str, Any]], *, name: str, at: int, owner: str) -> Any:
        present = [option for option in options if option.get("type") != "null"]
        if len(present) < len(options) and self.is_left_out(name, at):
            return None
        return self.value(present[at % len(present)], name=name, at=at, owner=owner)

    def is_left_out(self, name: str, at: int) -> bool:
        """Whether a value that may be null is null: all where nothing has happened yet, else in every second entry."""
        return self.content == "empty" or at % 2 == 1 or name in ("next", "previous", "next_step")

    def typed(self, schema: dict[str, Any], *, name: str, at: int, owner: str) -> Any:
        types = schema.get("type")
        if isinstance(types, list):
            if "null" in types and self.is_left_out(name, at):
                return None
            types = next(kind for kind in types if kind != "null")
        if types == "array":
            return self.entries(schema, name=name, owner=owner)
        if types == "object" or "properties" in schema:
            return self.object(schema, name=name, at=at, owner=owner)
        if types == "boolean":
            return at % 2 == 0
        if types in ("integer", "number"):
            return number(schema, name=name, at=at, is_whole=types == "integer")
        return self.text(schema, name=name, at=at) if types == "string" else None

    def entries(self, schema: dict[str, Any], *, name: str, owner: str) -> list[Any]:
        if self.content == "empty":
            return []
        if name == "owners" and owner == "QuotaTree":
            return scene.quota_owners(self.value(schema["items"], name=name, at=0))
        if name == "results" and owner == "PaginatedTeamList":
            return scene.teams(self.value(schema["items"], name=name, at=0))
        if name == "attempts" and owner == "JobDetail":
            return scene.attempts(self.value(schema["items"], name=name, at=0))
        if name == "slots" and owner == "Node":
            gpu = self.value(document()["components"]["schemas"]["Gpu"], name="gpu", at=0, owner="Gpu")
            return scene.slots(self.n_nodes(), 4, gpu)
        listed = N_HUGE if self.content == "huge" else N_LISTED
        n = listed if name in ("", "results") else N_NESTED
        return [self.value(schema["items"], name=name, at=i, owner=owner) for i in range(n)]

    def object(self, schema: dict[str, Any], *, at: int, owner: str, name: str = "") -> dict[str, Any]:
        made = {}
        for field, inner in schema.get("properties", {}).items():
            is_given = (owner, field) in FIELDS and (self.content != "empty" or field in ALWAYS)
            is_given = is_given and not (self.content == "huge" and (owner, field) in MADE_WHEN_HUGE)
            made[field] = (
                FIELDS[owner, field]
                if is_given
                else self.value(inner, name=field, at=at, owner=owner if field in CRAFTED else "")
            )
        if not made and self.content != "empty" and isinstance(schema.get("additionalProperties"), dict):
            return (
                self.named(schema["additionalProperties"], GPU_TYPES if name.endswith("by_type") else METRICS)
                if schema["additionalProperties"]
                else dict(PARAMETERS)
            )
        return made

    def text(self, schema: dict[str, Any], *, name: str, at: int) -> str:
        """Where there is very much, every second name is long, and the others are written from right to left."""
        found = string(schema, name=name, at=at)
        if self.content != "huge" or found not in NAMES:
            return found
        return (f"{LONG}-{at}", ARABIC, f"{UNBROKEN}-{at}", HEBREW)[at % 4]

    def named(self, schema: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        return {name: self.value(schema, name="", at=i) for i, name in enumerate(names)}


def number(schema: dict[str, Any], *, name: str, at: int, is_whole: bool) -> float:
    """Within its bounds."""
    found = next((value * (1 + 0.17 * (at % 5)) for pattern, value in NUMBERS if re.search(pattern, name)), at + 2)
    if name in ("progress", "share", "utilisation"):
        found = min(1, found)
    low, high = schema.get("minimum", 0), schema.get("maximum", float("inf"))
    bounded = max(low, min(high, found))
    return int(bounded) if is_whole else bounded


def string(schema: dict[str, Any], *, name: str, at: int) -> str:
    if schema.get("format") == "date-time":
        return scene.moment(name, at)
    if schema.get("format") == "date":
        return "2026-11-20"
    if schema.get("format") == "uuid":
        return scene.listed_id(at)
    if (known := scene.word(name, at)) is not None:
        return known
    found = next((text for pattern, text in STRINGS if re.search(pattern, name)), f"value-{at}")
    return NAMES[at % len(NAMES)] if found == "" and name not in ("cursor", "next", "previous") else found
