# SPDX-License-Identifier: Apache-2.0
"""Scans of `make lint` for known flaws of the pinned dependencies: pip-audit and npm audit.

A finding fails. Where the data about vulnerabilities cannot be had (no network, or a registry without it), that is
reported and does not fail. The code is checked by bandit's rules, which are ruff's S.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 15.0  # of each audit


@dataclass(frozen=True)
class Verdict:
    """report: a line, and a line for each finding. is_clean: False only for findings."""

    report: str
    is_clean: bool = True


def python_packages() -> Verdict:
    argv = [sys.executable, "-m", "pip_audit", "-r", "requirements.txt", "--no-deps", "--disable-pip", "--timeout", "3"]
    return of_pip_audit(_output([*argv, "-f", "json", "--progress-spinner", "off"]))


def javascript_packages() -> Verdict:
    return of_npm_audit(_output(["npm", "audit", "--json"], folder=ROOT / "frontend"))


def of_pip_audit(text: str) -> Verdict:
    """The verdict of pip-audit's JSON. A package with a skip_reason is one that the service gave nothing about."""
    packages = [p for p in _json(text).get("dependencies", []) if "skip_reason" not in p]
    if not packages:
        return Verdict("pip-audit: data about vulnerabilities could not be had")
    found = [
        f"  {package['name']} {package['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'none'}"
        for package in packages
        for flaw in package["vulns"]
    ]
    return Verdict("\n".join([f"pip-audit: {len(found)} known flaws in {len(packages)} packages", *found]), not found)


def of_npm_audit(text: str) -> Verdict:
    """The verdict of npm audit's JSON, which has no vulnerabilities member when the registry gave an error."""
    answer = _json(text)
    if "vulnerabilities" not in answer:
        return Verdict("npm audit: data about vulnerabilities could not be had")
    found = [f"  {name}: {flaw['severity']}, {flaw['range']}" for name, flaw in answer["vulnerabilities"].items()]
    return Verdict("\n".join([f"npm audit: {len(found)} packages with known flaws", *found]), not found)


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _output(argv: Sequence[str], *, folder: Path = ROOT) -> str:
    """What the program printed; "" when it is not there or takes too long."""
    try:
        return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stdout
    except (subprocess.TimeoutExpired, OSError):
        return ""


def main() -> int:
    scans: tuple[Callable[[], Verdict], ...] = (python_packages, javascript_packages)
    with ThreadPoolExecutor(len(scans)) as pool:
        verdicts = list(pool.map(lambda scan: scan(), scans))
    for verdict in verdicts:
        print(verdict.report)
    return 0 if all(verdict.is_clean for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
