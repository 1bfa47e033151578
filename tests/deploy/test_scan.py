# SPDX-License-Identifier: Apache-2.0
"""Tests of the security scans: a flaw fails, and missing data is said to be missing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SPEC = spec_from_file_location("mlhub_scan", ROOT / "deploy" / "local" / "scan.py")
assert SPEC is not None
assert SPEC.loader is not None
scan = module_from_spec(SPEC)
sys.modules["mlhub_scan"] = scan  # dataclasses look their module up
SPEC.loader.exec_module(scan)


def pip_audit(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_known_flaw_of_a_python_package_fails_and_is_named() -> None:
    flaw = {"id": "PYSEC-2026-1", "fix_versions": ["2.0"], "aliases": []}
    verdict = scan.of_pip_audit(pip_audit({"name": "sun", "version": "1.0", "vulns": [flaw]}))
    assert not verdict.is_clean
    assert "sun 1.0: PYSEC-2026-1, fixed in 2.0" in verdict.report


def test_python_packages_without_flaws_pass() -> None:
    verdict = scan.of_pip_audit(pip_audit({"name": "sun", "version": "1.0", "vulns": []}))
    assert (verdict.is_clean, verdict.report) == (True, "pip-audit: 0 known flaws in 1 packages")


@pytest.mark.parametrize("text", ["", "Traceback", pip_audit({"name": "sun", "skip_reason": "not found on PyPI"})])
def test_missing_data_about_python_packages_is_reported_and_passes(text: str) -> None:
    verdict = scan.of_pip_audit(text)
    assert (verdict.is_clean, verdict.report) == (True, "pip-audit: data about vulnerabilities could not be had")


def test_a_known_flaw_of_a_javascript_package_fails_and_is_named() -> None:
    verdict = scan.of_npm_audit(json.dumps({"vulnerabilities": {"moon": {"severity": "high", "range": "<2"}}}))
    assert not verdict.is_clean
    assert "moon: high, <2" in verdict.report
    assert scan.of_npm_audit(json.dumps({"vulnerabilities": {}})).is_clean


def test_missing_data_about_javascript_packages_is_reported_and_passes() -> None:
    verdict = scan.of_npm_audit(json.dumps({"message": "405 Method Not Allowed", "error": {"code": "E405"}}))
    assert (verdict.is_clean, verdict.report) == (True, "npm audit: data about vulnerabilities could not be had")


def test_bandits_rules_report_what_the_configuration_does_not_except(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import subprocess\nsubprocess.run('ls', shell=True)\n")
    argv = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), str(bad)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "S602" in done.stdout


def unsafe_loads(path: Path) -> list[str]:
    """Calls of torch.load without weights_only=True, which run what a file says; of bandit's checks ruff lacks this."""
    return [
        f"{path}:{call.lineno}"
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "torch.load"
        if not any(k.arg == "weights_only" and ast.unparse(k.value) == "True" for k in call.keywords)
    ]


def test_what_torch_loads_runs_no_code(tmp_path: Path) -> None:
    files = [path for folder in ("mlhub", "scheduler", "deploy") for path in (ROOT / folder).rglob("*.py")]
    assert [call for path in files for call in unsafe_loads(path)] == []
    bad = tmp_path / "bad.py"
    bad.write_text("import torch\ntorch.load('model.pt')\ntorch.load('model.pt', weights_only=True)\n")
    assert unsafe_loads(bad) == [f"{bad}:2"]


def test_every_exception_of_bandits_rules_gives_its_reason() -> None:
    for folder in ("mlhub", "scheduler", "deploy/local", "deploy/client"):
        for path in (ROOT / folder).rglob("*.py"):
            for line in path.read_text().splitlines():
                if re.search(r"# noqa: (\w+, )*S\d", line):
                    assert re.search(r"# noqa: [\w, ]+ [-(] ?\w+", line), f"{path}: {line}"
