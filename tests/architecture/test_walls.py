# SPDX-License-Identifier: Apache-2.0
"""Walls that an import linter cannot see: what pods load, who writes a job's state, what a tenant's table has."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).parents[2]
PURE = ["mlhub.wire", "mlhub.runtime", "mlhub.backends", "mlhub.agent", "mlhub.embedded", "scheduler"]

REFUSE = """
import importlib, pkgutil, sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ImportError("the wall: " + name)
sys.meta_path.insert(0, Wall())
for package in {packages!r}:
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""


def test_the_pure_packages_load_where_django_and_celery_do_not_exist() -> None:
    code = REFUSE.format(refused={"django", "rest_framework", "celery"}, packages=PURE)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_client_loads_where_there_is_nothing_of_the_platform_s() -> None:
    refused = {"django", "rest_framework", "celery", "torch", "redis", "kubernetes", "scheduler"}
    code = REFUSE.format(refused=refused, packages=["mlhub.client"])
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_wall_does_refuse() -> None:
    code = REFUSE.format(refused={"django"}, packages=["mlhub.tenants"])
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "the wall: django" in done.stderr


def test_what_starts_a_pod_loads_no_torch() -> None:
    code = "import sys, mlhub.runtime, mlhub.wire.launch, mlhub.backends.local; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_what_decides_loads_no_simulator_and_the_simulator_s_reports_load_no_part_of_scipy() -> None:
    code = (
        "import sys, mlhub.control.deciding.decision_process\n"
        "assert 'scheduler.simulator' not in sys.modules\n"
        "import scheduler.simulator.reports.policy_lab\n"  # which the web server needs
        "assert not {'scipy.interpolate', 'scipy.optimize', 'scipy.linalg'}.intersection(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _writes_of_state(tree: ast.AST) -> list[int]:
    """Lines that assign `.state` of something called job, or pass state= to an update() or create() of jobs."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if (
                    isinstance(target, ast.Attribute)
                    and target.attr == "state"
                    and "job" in ast.unparse(target.value).lower()
                ):
                    found.append(node.lineno)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("update", "bulk_update")
        ):
            words = ast.unparse(node.func.value)
            if ("Job" in words or "job" in words) and any(k.arg == "state" for k in node.keywords):
                found.append(node.lineno)
    return found


def test_the_state_of_a_job_has_one_writer() -> None:
    writers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "mlhub").rglob("*.py")
        if "migrations" not in path.parts and _writes_of_state(ast.parse(path.read_text()))
    }
    assert writers == {"mlhub/jobs/lifecycle.py"}


# Rows that no address shows by themselves: they are read through the row they belong to, or belong to the cluster.
READ_THROUGH_ANOTHER = {
    "User", "Blob", "Rack", "Node", "Maintenance", "Allocation", "Checkpoint", "Submission", "StreamCursor",
    "PodStream", "Series", "MetricPoint", "LogLine", "SpeedSample", "Staleness", "StallRecord", "SchedulerSettings",
    "PairSample", "RefusedMeasurement", "SchedulerState", "SchedulerMemory", "Round", "ShadowDecision", "SandboxReport",
    "LinkEstimate", "Installation", "RemovedPart", "ChainHead", "MailNotices", "MailCursor",
    "SecondFactor", "PolicyReplay", "LedgerCheck", "NotebookActivity", "UsageSample", "WorkerSteps",
    "GpuBusyTime", "ProfileRecording", "ProfileTrace", "DetachedRows", "UsedChallenge", "AdmissionPause",
    "AnnouncementDismissal", "Agent", "AgentGang", "AgentShare", "NodeFailure", "NodeExclusion",
    "CachedInput", "CacheUse",
}  # fmt: skip


def test_every_table_that_a_tenant_owns_can_be_filtered_by_who_asks() -> None:
    ours = [m for m in apps.get_models() if m.__module__.startswith("mlhub.")]
    assert len(ours) > 15
    without = {m.__name__ for m in ours if not hasattr(m._default_manager, "visible_to")}
    assert without == READ_THROUGH_ANOTHER


def test_files_stay_small_enough_to_read() -> None:
    long = {
        str(path.relative_to(ROOT)): n
        for package in ("mlhub", "scheduler", "benchmarks", "tests")
        for path in (ROOT / package).rglob("*.py")
        if not {"migrations", "generated"} & set(path.parts) and (n := len(path.read_text().splitlines())) > 400
    }
    assert not long


@pytest.mark.parametrize("name", ["services.py", "utils.py", "helpers.py", "common.py", "managers.py", "signals.py"])
def test_no_file_has_a_name_that_says_nothing(name: str) -> None:
    assert not list((ROOT / "mlhub").rglob(name)) + list((ROOT / "scheduler").rglob(name))
