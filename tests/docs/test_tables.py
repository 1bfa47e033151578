# SPDX-License-Identifier: Apache-2.0
"""The tables of the guides list what the code has: policies, strategies, hyperparameters, resources, causes, values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlhub.control.monitoring import exporter
from mlhub.core.rate_limits.limits import DEFAULTS
from mlhub.jobs.api.requests import LimitsSerializer, ResourcesSerializer
from mlhub.runtime.model.hyperparameters import NAMES
from mlhub.runtime.strategies.catalogue.schema import AUTO, PRESETS, STRATEGIES
from mlhub.webhooks.topics import TOPICS
from mlhub.wire.exits import Cause
from scheduler.policies.registry import POLICIES, parameters_of
from tests.docs.pages import ROOT, text_of

TRAINING = "docs/guides/training.md"


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table whose header begins with this text."""
    text = text_of(page)
    table = text[text.index(f"\n| {heading}") + 1 :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def code(text: str) -> list[str]:
    """The pieces of code in a cell."""
    return re.findall(r"`([^`]+)`", text)


def test_the_table_of_policies_lists_all_with_their_parameters() -> None:
    listed = {name: row for row in rows("docs/guides/scheduling.md", "name | rule") for name in code(row[0])}
    assert listed.keys() == POLICIES.keys()
    text = text_of("docs/guides/scheduling.md")
    las = set(parameters_of("las"))
    for name, row in listed.items():
        given = set(code(row[-1]))
        parameters = set(parameters_of(name)) - (las if name == "tiresias" else set())
        missing = {each for each in parameters - given if name != "mlhub" or f"`{each}" not in text}
        assert missing == set(), name


def test_the_table_of_strategies_lists_all_with_parameters_that_they_have() -> None:
    listed = {code(row[0])[0]: row for row in rows(TRAINING, "name | runs on")}
    assert listed.keys() == STRATEGIES.keys() - {AUTO}
    for name, row in listed.items():
        mode = STRATEGIES[name].mode
        assert row[1] == {"all_reduce": "all-reduce", "parameter_server": "servers"}[str(mode)], name
        assert set(code(row[2])) <= STRATEGIES[name].parameters.keys(), name
        assert ("continues" in row[4]) == STRATEGIES[name].survives, name


def test_every_parameter_of_a_strategy_is_in_the_guide() -> None:
    text = text_of(TRAINING)
    parameters = {each for strategy in STRATEGIES.values() for each in strategy.parameters}
    assert {each for each in parameters if f"`{each}" not in text} == set()


def test_every_preset_is_among_the_names_from_elsewhere() -> None:
    text = text_of(TRAINING)
    named = set(code(text[text.index("## Names from elsewhere") :].split("\n## ")[0]))
    assert PRESETS.keys() - named == set()


def test_the_table_of_hyperparameters_lists_those_of_the_training_loop() -> None:
    assert {name for row in rows(TRAINING, "name | default") for name in code(row[0])} == set(NAMES)


def test_the_table_of_resources_and_limits_lists_the_fields_of_a_job() -> None:
    fields = {f"resources.{name}" for name in ResourcesSerializer().fields}
    fields |= {f"limits.{name}" for name in LimitsSerializer().fields}
    assert {code(row[0])[0] for row in rows(TRAINING, "field of the job")} == fields


def test_the_table_of_causes_lists_all_with_fault_precedence_and_meaning() -> None:
    listed = [tuple(row) for row in rows("docs/guides/failures.md", "cause | fault")]
    assert sorted(listed) == sorted((f"`{c}`", str(c.fault), str(c.precedence), c.message) for c in Cause)


def value_of(values: dict[str, Any], path: str) -> bool:
    """Whether the chart's values have this path."""
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def test_the_values_of_the_chart_that_the_guide_names_exist() -> None:
    values = yaml.safe_load((ROOT / "deploy/helm/mlhub/values.yaml").read_text())
    groups = "|".join(name for name, value in values.items() if isinstance(value, dict))
    named = set(re.findall(rf"`((?:{groups})\.[A-Za-z_]+)", text_of("docs/guides/kubernetes.md")))
    assert len(named) > 8
    # the chart passes every option of the backend on, and every process takes the keys of `pods`
    passed = {"store_cidr", "store_namespace", "sandbox_cpus", *values.get("pods", {})}
    missing = {path for path in named if not value_of(values, path)}
    assert {path for path in missing if path.partition(".")[2] not in passed} == set()


@pytest.mark.parametrize("page", ["docs/guides/kubernetes.md"])
def test_the_metrics_that_a_guide_alerts_on_are_exported(page: str) -> None:
    source = Path(str(exporter.__file__)).read_text()
    named = re.findall(r"\bmlhub_[a-z_]+", text_of(page))
    assert named
    assert [name for name in named if name not in source and name.removesuffix("_seconds") not in source] == []


def test_the_table_of_topics_lists_all_of_webhooks() -> None:
    listed = {topic for row in rows("docs/guides/webhooks.md", "topic | when") for topic in code(row[0])}
    assert listed == TOPICS.keys()


def test_the_table_of_rate_limits_has_every_budget_with_its_limits() -> None:
    listed = {row[0]: row[2].partition(";")[0] for row in rows("docs/guides/rest-api.md", "budget | requests")}
    assert {budget: re.sub(r" (\d)", r"=\1", limits.replace(", ", ";")).replace(",", "").replace(";", ",")
            for budget, limits in listed.items()} == DEFAULTS  # fmt: skip


def test_the_map_of_the_architecture_has_every_part() -> None:
    listed = {name for row in rows("ARCHITECTURE.md", "component | what") for name in code(row[0])}
    parts = {f"mlhub/{path.parent.name}/" for path in (ROOT / "mlhub").glob("*/__init__.py")}
    assert listed == {"scheduler/", "frontend/", *parts}


def test_the_tour_names_every_tab_of_a_job_s_page() -> None:
    source = (ROOT / "frontend/src/features/jobs/detail/tabs/tabs.ts").read_text()
    labels = re.findall(r"t`(.+?)`", source[source.index("TAB_LABELS") : source.index("};")])
    tour = " ".join(text_of("README.md").partition("## A tour")[2].partition("\n## ")[0].split())
    assert len(labels) > 8
    assert [label for label in labels if f"*{label}*" not in tour] == []


def test_the_pictures_of_the_first_job_are_those_that_its_test_takes() -> None:
    taken = set(re.findall(r'picture\(page, "([\w-]+)"\)', (ROOT / "tests/e2e/test_first_job.py").read_text()))
    shown = set(re.findall(r"images/first-job/([\w-]+)\.png", text_of("docs/guides/first-job.md")))
    assert taken == shown == {path.stem for path in (ROOT / "docs/images/first-job").iterdir()}
