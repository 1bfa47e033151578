# SPDX-License-Identifier: Apache-2.0
"""A client that openapi-python-client makes from the schema: it imports whole, and submits a job to a live server."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mlhub.tenants.actions import create_token
from tests.cast import make_cast
from tests.jobs.builders import builtin, ready_dataset
from tests.openapi import committed, operations

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "generated_mlhub_client"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package, imported from a temporary folder. Any warning of the generator fails."""
    folder = tmp_path_factory.mktemp("generated")
    schema = folder / "openapi.json"  # the generator would read YAML in Python, for seconds
    schema.write_text(json.dumps(committed()))
    command = [
        str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--path", str(schema),
        "--output-path", str(folder / PACKAGE), "--meta", "none", "--config", str(_config(folder)),
        "--fail-on-warning",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "arning" not in done.stdout + done.stderr, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module(PACKAGE)
    sys.path.remove(str(folder))
    for name in [n for n in sys.modules if n.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def _config(folder: Path) -> Path:
    """Without hooks, so that the generator needs no formatter."""
    path = folder / "config.yaml"
    path.write_text("post_hooks: []\n")
    return path


def modules(package: ModuleType) -> list[str]:
    return [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


@pytest.mark.slow
def test_every_module_of_the_generated_client_imports(generated: ModuleType) -> None:
    found = modules(generated)
    assert len(found) > 200
    for name in found:
        importlib.import_module(name)


def test_no_operation_of_the_schema_is_left_out(generated: ModuleType) -> None:
    generated_ones = [name for name in modules(generated) if name.count(".") == 3 and ".api." in name]
    assert len(generated_ones) == len(operations())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_generated_client_submits_a_job_and_reads_a_problem(generated: ModuleType, live_server: Any) -> None:
    cast = make_cast()
    _, token = create_token(cast.bob, name="client", scopes=["read", "write"], expires_in_days=1)
    client = generated.AuthenticatedClient(base_url=live_server.url, token=token)
    submit = importlib.import_module(f"{PACKAGE}.api.jobs.jobs_create")
    models = importlib.import_module(f"{PACKAGE}.models")
    dataset = ready_dataset(cast.project_a, cast.bob)
    body = models.JobSubmitRequest(dataset=str(dataset.dataset_id), model=str(builtin().model_id), epochs=3)
    job = submit.sync(client=client, body=body)
    assert isinstance(job, models.Job)
    assert (job.state, job.epochs, job.created_by.username) == ("queued", 3, "bob")
    listed = importlib.import_module(f"{PACKAGE}.api.jobs.jobs_list").sync(client=client, limit=10)
    assert [row.id for row in listed.results] == [job.id]
    refused = submit.sync(client=client, body=models.JobSubmitRequest(dataset=str(dataset.dataset_id), epochs=3))
    assert isinstance(refused, models.Problem)
    assert [error.field for error in refused.errors] == ["model"]
