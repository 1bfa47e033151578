# SPDX-License-Identifier: Apache-2.0
"""Runs the examples on a platform of its own, by the commands of examples/README.md: `make test-examples`.

python -m tests.examples [NAME ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mlhub.demo.client import Person
from tests.examples.catalogue import Example, examples
from tests.platform import ROOT, RunningPlatform, running, wait

OVER = ("succeeded", "failed", "cancelled", "completed", "stopped")
PROGRAMS = {"mlhub": (sys.executable, "-m", "mlhub.cli"), "python": (sys.executable,)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.examples")
    parser.add_argument("names", nargs="*", help="examples to run, by default all")
    given = parser.parse_args(arguments)
    chosen = [example for example in examples() if not given.names or example.name in given.names]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "platform"
        place.mkdir()
        with running(place) as platform:
            faults = [fault for example in chosen if (fault := fault_of(platform, example))]
    print("\n".join(faults) or f"{len(chosen)} of {len(chosen)} examples reach what they should")
    return int(bool(faults))


def fault_of(platform: RunningPlatform, example: Example) -> str:
    """Runs the example as a person of its own; why it did not reach its bound, "" when it did."""
    person = platform.person(example.name, organisation=example.name)
    token = str(person.post("/tokens", name="examples", scopes=["read", "write"])["token"])
    environment = os.environ | {"MLHUB_URL": platform.url, "MLHUB_TOKEN": token}
    began = time.monotonic()
    for command in (("mlhub", "project", "create", example.name), *example.commands):
        done = subprocess.run([*PROGRAMS[command[0]], *command[1:]], cwd=ROOT, env=environment, check=False)
        if done.returncode:
            return f"{example.name}: `{' '.join(command)}` ended with {done.returncode}"
    value = _study_value(person) if example.name == "study" else _job_value(person, example.bound.metric)
    print(f"{example.name}: {example.bound.metric} {value}, {time.monotonic() - began:.0f} s", flush=True)
    return "" if example.bound.holds(value) else f"{example.name}: {example.bound.metric} is {value}: {example.bound}"


def _job_value(person: Person, metric: str) -> float | None:
    (job,) = person.get("/jobs")["results"]
    found: dict[str, float] = job["result_metrics"]
    return found.get(metric)


def _study_value(person: Person) -> float | None:
    (study,) = person.get("/studies")["results"]
    path = f"/studies/{study['id']}"
    wait(lambda: person.get(path)["state"] in OVER, seconds=1500, message="the study did not end")
    best: dict[str, Any] | None = person.get(path)["best"]
    return None if best is None else float(best["results"][-1]["value"])


if __name__ == "__main__":
    sys.exit(main())
