# SPDX-License-Identifier: Apache-2.0
"""The typed client is that of the schema: every operation is a method of both clients, and its types are there."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlhub.client import AsyncClient, Client
from tests.openapi import committed

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from mlhub.client import AsyncClient, Client, Refused


def blocking(client: Client) -> str:
    job = client.jobs.submit(dataset="iris", model="mlp", epochs=3, resources={"memory_gib": 4.0})
    for other in client.jobs.list(state=["running"], project="vision"):
        reveal_type(other.name)
    for line in client.jobs.logs(job, follow=True):
        print(line.text)
    try:
        done = client.jobs.wait(job)
    except Refused as error:
        return error.remedy
    reveal_type(done.finished_at)
    reveal_type(client.jobs.list().first(3))
    reveal_type(client.jobs.download_result(done, to="result.npz"))
    return done.project.name


async def awaited() -> None:
    async with AsyncClient() as client:
        async for dataset in client.datasets.list():
            reveal_type(dataset.latest_version)
        reveal_type(await client.jobs.why("j1"))
"""
REVEALED = [
    "str",
    "datetime.datetime | None",
    "mlhub.client.records.ApiRows[mlhub.client.generated.records.Job]",
    "pathlib.Path",
    "mlhub.client.generated.records.DatasetVersion | None",
    "mlhub.client.generated.records.Why",
]
MISTAKES = {
    "client.jobs.submit(epochz=3)": 'Unexpected keyword argument "epochz"',
    'client.jobs.submit(epochs="many")': 'Argument "epochs"',
    'client.jobs.list(state=["runing"])': "List item 0 has incompatible type",
    'client.jobs.get("j1").nam': 'has no attribute "nam"',
    "client.jobs.get()": "Too few arguments",
    "client.job.list()": 'has no attribute "job"',
}


def _operations() -> set[tuple[str, str]]:
    paths = committed()["paths"]
    return {
        (verb.upper(), path.removeprefix("/api/v1"))
        for path, item in paths.items()
        for verb in item
        if verb != "parameters"
    }


def _methods(client: Any) -> dict[tuple[str, str], Any]:
    """By verb and path, as the last line but the parameters of their docstrings says."""
    found = {}
    for resource in vars(client).values():
        for name, method in inspect.getmembers(resource, inspect.ismethod):
            for line in (inspect.getdoc(method) or "").splitlines():
                verb, _, path = line.partition(" ")
                if verb in ("GET", "POST", "PUT", "PATCH", "DELETE") and path.startswith("/") and " " not in path:
                    assert not name.startswith("_")
                    found[verb, path] = method
    return found


@pytest.mark.slow
@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_every_operation_of_the_schema_is_a_method(client: Any) -> None:
    assert set(_methods(client("http://127.0.0.1:1", "t"))) == _operations()


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    blocking, awaited = _methods(Client("http://x", "t")), _methods(AsyncClient("http://x", "t"))
    for operation, method in blocking.items():
        other = awaited[operation]
        assert (method.__name__, inspect.getdoc(method)) == (other.__name__, inspect.getdoc(other))
        assert list(inspect.signature(method).parameters) == list(inspect.signature(other).parameters)


@pytest.mark.slow
def test_the_committed_client_is_that_of_the_schema() -> None:
    command = [sys.executable, "deploy/client/generate.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_client_of_another_schema_is_found(tmp_path: Path) -> None:
    """The check on a copy, with one more query parameter in the schema."""
    for name in ("deploy/client", "mlhub/client"):
        for source in (ROOT / name).rglob("*.py"):
            target = tmp_path / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text())
    schema = committed()
    schema["paths"]["/api/v1/jobs"]["get"]["parameters"].append(
        {"in": "query", "name": "colour", "schema": {"type": "string"}, "description": "Only those."}
    )
    (tmp_path / "frontend").mkdir()
    (tmp_path / "frontend" / "openapi.yaml").write_text(yaml.dump(schema, Dumper=yaml.CSafeDumper, sort_keys=False))
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    command = [sys.executable, "deploy/client/generate.py", "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "generated/synchronous.py" in done.stderr
    assert "make client" in done.stderr
    assert "records.py" not in done.stderr


@pytest.mark.slow
def test_mypy_knows_the_types_in_a_program_of_a_user(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    mistakes = tmp_path / "mistakes.py"
    mistakes.write_text("from mlhub.client import Client\n\nclient = Client()\n" + "\n".join(MISTAKES))
    # What the client itself uses is read by `make types`; numpy's types alone take as long as the client's.
    of_others = "[mypy-numpy.*,httpx.*,pyarrow.*]\nfollow_imports = skip\n"
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = silent\n" + of_others)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary"]
    done = subprocess.run(
        [*command, "--config-file", "mypy.ini", "program.py", "mistakes.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    revealed = [line.partition('"')[2].rpartition('"')[0] for line in lines if "Revealed type" in line]
    assert [text.replace("builtins.", "") for text in revealed] == REVEALED
    assert not [line for line in lines if line.startswith("program.py") and " error: " in line], done.stdout
    errors = [line for line in lines if line.startswith("mistakes.py") and " error: " in line]
    assert [next((e for e in errors if text in e), "") != "" for text in MISTAKES.values()] == [True] * len(MISTAKES), (
        errors
    )
