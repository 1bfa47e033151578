# SPDX-License-Identifier: Apache-2.0
"""The wheel: what is in it, and that each part imports with no more than its extra brings."""

from __future__ import annotations

import email
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.packaging.conftest import ROOT, Installation

WALLED_IMPORT = """
import importlib, sys
walled, room = sys.argv[1].split(","), sys.argv[2]
class Wall:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in walled and top not in sys.stdlib_module_names and not top.startswith("_sysconfigdata"):
            raise ImportError("the wall: " + name)
sys.meta_path.insert(0, Wall())
module = importlib.import_module(room)
for name in getattr(module, "__all__", ()):
    getattr(module, name)  # some are imported when they are asked for
print(module.__file__)
"""


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def about(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


@pytest.mark.slow
def test_every_source_file_of_both_packages_is_in_the_wheel(names: set[str]) -> None:
    tracked = subprocess.run(["git", "ls-files", "mlhub", "scheduler"], cwd=ROOT, capture_output=True, text=True)
    expected = {line for line in tracked.stdout.splitlines() if (ROOT / line).is_file()}
    assert len(expected) > 400
    assert expected <= names


def test_the_wheel_brings_the_files_that_are_not_python(names: set[str]) -> None:
    assert {
        "mlhub/_files/cluster.yaml",
        "mlhub/demo/packages/cnn/model.py",
        "mlhub/runtime/model/builtin/mlp.py",
        "scheduler/policies/dl2/weights.npz",
        "mlhub/py.typed",
        "scheduler/py.typed",
    } <= names


def test_a_dashboard_that_was_built_is_in_the_wheel(names: set[str]) -> None:
    dist = ROOT / "frontend" / "dist"
    built = (
        {str(p.relative_to(dist)) for p in dist.rglob("*") if p.is_file()} if (dist / "index.html").exists() else set()
    )
    assert {n.removeprefix("mlhub/_files/dashboard/") for n in names if "_files/dashboard/" in n} == built


def test_nothing_but_the_two_packages_is_in_the_wheel(names: set[str]) -> None:
    assert {n.partition("/")[0] for n in names if ".dist-info/" not in n} == {"mlhub", "scheduler"}
    assert not [n for n in names if n.endswith((".pyc", ".log")) or "/tests/" in n or "node_modules" in n]


@pytest.mark.slow
def test_the_installed_client_needs_httpx_numpy_and_pyarrow_only(
    installation: Installation, about: email.message.Message
) -> None:
    base = [Requirement(r) for r in about.get_all("Requires-Dist") or [] if "extra" not in r]
    needed, of_the_command = {"httpx", "numpy", "pyarrow"}, {"httpx-sse", "pyyaml", "rich", "typer"}
    assert {r.name for r in base} == needed | of_the_command
    done = installation.run(WALLED_IMPORT, ",".join({"mlhub", *_modules(*needed)}), "mlhub.client")
    assert done.returncode == 0, done.stderr
    assert str(installation.python.parents[1]) in done.stdout


@pytest.mark.slow
def test_the_installed_scheduler_needs_what_its_extra_names_only(
    installation: Installation, about: email.message.Message
) -> None:
    every = [Requirement(r) for r in about.get_all("Requires-Dist") or []]
    extra = {r.name for r in every if r.marker is not None and r.marker.evaluate({"extra": "scheduler"})}
    done = installation.run(WALLED_IMPORT, ",".join({"scheduler", *_modules(*extra)}), "scheduler.commands.simulate")
    assert done.returncode == 0, done.stderr
    assert str(installation.python.parents[1]) in done.stdout


def test_the_wall_refuses_what_a_part_may_not_import(installation: Installation) -> None:
    done = installation.run(WALLED_IMPORT, "mlhub,numpy", "mlhub.client")
    assert "the wall: " in done.stderr


def test_an_installed_platform_finds_its_dashboard_and_its_cluster_file(installation: Installation) -> None:
    code = (
        "from mlhub import _installation as i; from mlhub.backends.local import read_cluster;"
        "read_cluster(i.default_cluster_file());"
        "print(i.is_installed(), i.default_home(), i.dashboard_build())"
    )
    done = installation.run(code)
    assert done.returncode == 0, done.stderr
    installed, home, dashboard = done.stdout.split()
    assert (installed, home) == ("True", str(installation.folder / ".mlhub"))
    assert (Path(dashboard) / "index.html").is_file() == (ROOT / "frontend" / "dist" / "index.html").is_file()


@pytest.mark.slow
def test_django_s_checks_pass_where_mlhub_is_installed(installation: Installation) -> None:
    code = "import sys; from django.core.management import execute_from_command_line as run; run(['django', 'check'])"
    done = installation.run(f"import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'mlhub.settings'; {code}")
    assert done.returncode == 0, done.stderr


def _modules(*distributions: str) -> set[str]:
    """The top-level modules of these distributions and of all that they require."""
    found, todo = set(), list(distributions)
    while todo:
        name = todo.pop().lower()
        if name in found:
            continue
        found.add(name)
        requirements = [Requirement(r) for r in metadata.requires(name) or []]
        todo += [r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    canonical = {n.replace("_", "-") for n in found}
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if {o.lower().replace("_", "-") for o in owners} & canonical
    }
