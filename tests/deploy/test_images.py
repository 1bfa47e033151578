# SPDX-License-Identifier: Apache-2.0
"""Tests of Dockerfiles and the compose file, as far as they can be read without Docker."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mlhub._version import __version__
from tests.deploy.test_processes import PROCESSES, SECRETS

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "deploy" / "images"
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose" / "compose.yaml").read_text())
PACKAGE_OF = {"PIL": "pillow", "google": "protobuf", "typing_extensions": "typing-extensions"}


def lines(name: str) -> list[str]:
    text = (IMAGES / f"{name}.Dockerfile").read_text().replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("name", ["server", "runtime"])
def test_images_are_pinned_and_do_not_run_as_root(name: str) -> None:
    found = lines(name)
    for line in (line for line in found if line.startswith("FROM ")):
        assert re.match(r"FROM [a-z]+:\d+\.\d+\.\d+-", line), line
    users = [line for line in found if line.startswith("USER ")]
    assert users == ["USER 10001:10001"]
    assert found.index(users[0]) > max(i for i, line in enumerate(found) if line.startswith("FROM "))


def test_the_image_of_jobs_is_the_runtime_s_and_runs_as_its_user() -> None:
    found = lines("job")
    assert [line for line in found if line.startswith("FROM ")] == ["FROM ${RUNTIME}"]
    assert f"ARG RUNTIME=mlhub-runtime:{__version__}" in found
    assert found[-1] == "USER 10001:10001"
    assert any("mlhub/_version.py" in line for line in lines("runtime") if line.startswith("COPY "))


@pytest.mark.parametrize("name", ["server", "runtime"])
def test_everything_that_images_copy_is_there_and_not_ignored(name: str) -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for line in lines(name):
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source
                assert any(source.rstrip("/") == a or source.startswith(f"{a}/") for a in allowed), source


@pytest.mark.slow
def test_the_runtime_image_has_all_that_the_runtime_imports_and_no_django() -> None:
    [install] = [line for line in lines("runtime") if "grep -E" in line]
    installed = set(install.split("^(")[1].split(")==")[0].split("|"))
    pinned = {line.partition("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines()}
    assert installed <= pinned
    imported = {
        name.split(".")[0]
        for room in ("runtime", "wire")
        for path in (ROOT / "mlhub" / room).rglob("*.py")
        if not path.name.startswith("notebook")  # notebooks run where JupyterLab is: in no image yet
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    foreign = {PACKAGE_OF.get(n, n) for n in imported if n not in sys.stdlib_module_names and n != "mlhub"}
    assert foreign <= installed
    assert "django" not in installed


def install_runtime(folder: Path, **arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str], set[str]]:
    """Runs the step that installs packages, with a pip that writes down its arguments.

    Returns how it ended, these arguments, and what is to be installed.
    """
    [step] = [line for line in lines("runtime") if "grep -E" in line]
    defaults = dict(
        line.removeprefix("ARG ").replace('"', "").split("=") for line in lines("runtime") if "ARG " in line
    )
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "requirements.txt").write_text((ROOT / "requirements.txt").read_text())
    (folder / "full.txt").write_text((IMAGES / "full.txt").read_text())
    pip = folder / "venv" / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\necho "$@" > {folder}/asked\n')
    pip.chmod(0o755)
    script = step.removeprefix("RUN ").replace("/tmp/", f"{folder}/").replace("/opt/mlhub", f"{folder}/venv")
    script = script.replace("python -m venv", "true")
    environment = {"PATH": "/usr/bin:/bin", **defaults, **arguments}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    asked = (folder / "asked").read_text().split() if done.returncode == 0 else []
    return done, asked, set((folder / "needed.txt").read_text().split("\n"))


def test_the_runtime_image_has_variants_for_cpus_and_for_everything(tmp_path: Path) -> None:
    pinned = {line for line in (IMAGES / "full.txt").read_text().splitlines() if not line.startswith("#")}
    assert {line.partition("==")[0] for line in pinned} == {
        "torchvision", "torchaudio", "transformers", "datasets", "lightning"
    }  # fmt: skip
    assert all(re.fullmatch(r"[a-z]+==\d+\.\d+\.\d+", line) for line in pinned)
    _, asked, usual = install_runtime(tmp_path / "usual")
    assert "--extra-index-url" not in asked
    assert not pinned & usual
    _, asked, on_cpus = install_runtime(tmp_path / "cpu", TORCH="cpu")
    assert "https://download.pytorch.org/whl/cpu" in asked
    assert on_cpus == usual
    _, _, full = install_runtime(tmp_path / "full", PACKAGES="full")
    assert pinned <= full
    assert usual - {""} <= full


@pytest.mark.parametrize("wrong", [{"TORCH": "rocm"}, {"PACKAGES": "all"}])
def test_a_variant_that_there_is_not_ends_the_build_with_those_that_there_are(
    tmp_path: Path, wrong: dict[str, str]
) -> None:
    done, _, _ = install_runtime(tmp_path, **wrong)
    assert done.returncode == 1
    assert "; known: " in done.stderr


def test_compose_pins_its_images_and_asks_for_its_secrets() -> None:
    for service in COMPOSE["services"].values():
        assert re.search(r":v?\d+\.\d+", service["image"])
    environment = COMPOSE["services"]["web"]["environment"]
    assert ":?" in environment["MLHUB_SECRET_KEY"]
    assert ":?" in environment["DATABASE_URL"]
    assert ":?" in environment["REDIS_URL"]
    assert not any("PASSWORD" in word for word in COMPOSE["services"]["valkey"]["command"][:2])
    example = (ROOT / "deploy" / "compose" / "example.env").read_text()
    asked = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "deploy" / "compose" / "compose.yaml").read_text()))
    assert asked == set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))


def test_each_process_of_compose_gets_the_secrets_that_it_gets_of_the_chart() -> None:
    secrets = {key for keys in SECRETS.values() for key in keys}
    for process in PROCESSES:
        given = set(COMPOSE["services"][process]["environment"]) & secrets
        assert given == SECRETS[process] - {"MLHUB_SECRET_KEY_FALLBACKS", "MLHUB_METRICS_TOKEN"}, process


def test_compose_gives_any_further_setting_to_all_processes() -> None:
    for process in (*PROCESSES, "migrate"):
        assert COMPOSE["services"][process]["env_file"] == [{"path": "settings.env", "required": False}]


def test_compose_starts_every_process_of_the_platform_after_the_migrations() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"postgres", "valkey", "bucket", "migrate", "web", "worker", "sender", "beat", "control"}
    assert services["bucket"]["profiles"] == ["bucket"]
    assert services["migrate"]["command"][:4] == ["python", "manage.py", "schema", "apply"]
    for name in ("web", "worker", "sender", "beat"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert services["control"]["depends_on"] == {"web": {"condition": "service_healthy"}}
    assert all("privileged" not in service for service in services.values())
