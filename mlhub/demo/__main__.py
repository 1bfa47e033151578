# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.demo --url ... --home ...: the main job, as two people do it. Status 0: all reached their goal."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from mlhub.demo import board, material
from mlhub.demo.client import STATE_WITHIN_S, Person, RequestRefused
from mlhub.demo.people import Login, logins

GPUS_EACH = 2  # of the virtual cluster's four: each organisation trains on half of it


@dataclass(frozen=True)
class DemoUpload:
    """A file that a person brings. kind: the collection it goes to. content: makes the bytes, which takes a second."""

    person: Person
    kind: str
    name: str
    filename: str
    content: Callable[[], bytes]
    fields: dict[str, str] = field(default_factory=dict)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.demo", description=__doc__)
    parser.add_argument("--url", required=True, help="the platform's address")
    parser.add_argument("--home", required=True, type=Path, help="the platform's folder, where the logins are kept")
    parser.add_argument("--timeout-s", type=float, default=900)
    arguments = parser.parse_args()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    people = logins(arguments.home)
    try:
        reached = play(console, arguments.url, people, seconds=arguments.timeout_s)
    except (RequestRefused, TimeoutError) as error:
        console.print(f"[red]The demo stopped:[/] {error}")
        reached = False
    console.print(f"\nDashboard: [bold]{arguments.url}[/]")
    for login in people:
        console.print(
            f"  sign in as {login.username:<6} password {login.password:<14} {login.organisation or 'platform'}"
        )
    return 0 if reached else 1


def play(console: Console, url: str, people: list[Login], *, seconds: float) -> bool:
    """Uploads, submits, watches. True when every job reached the accuracy that it named."""
    maria, jonas, admin = (Person(url, p.username, p.password) for p in people)
    for person in (maria, jonas):
        admin.patch(f"/organisations/{person.organisation['id']}/quota", max_gpus=GPUS_EACH)

    console.print("[bold]Uploading[/] two data sets and two models")
    uploads = [
        DemoUpload(maria, "datasets", "mnist-5k", "mnist-5k.npz", material.mnist_5k),
        DemoUpload(jonas, "datasets", "digits", "digits.csv", material.digits_csv, {"target": "digit"}),
        DemoUpload(maria, "models", "small-cnn", "cnn.zip", partial(material.package, "cnn")),
        DemoUpload(jonas, "models", "row-transformer", "transformer.zip", partial(material.package, "transformer")),
    ]
    sent = [(upload, _send(upload)) for upload in uploads]
    objects = {}
    for upload, created in sent:
        objects[upload.name] = upload.person.wait_ready(f"/{upload.kind}/{created['id']}")
        console.print(f"  {upload.name:<16} {_described(objects[upload.name]['latest_version'])}")

    console.print("[bold]Training[/] three jobs that name data, model, epochs and batch size")
    digits = {"dataset": objects["mnist-5k"]["id"], "model": objects["small-cnn"]["id"], "batch_size": 64}
    rows = {"dataset": objects["digits"]["id"], "model": objects["row-transformer"]["id"], "batch_size": 64}
    goal = {"target_metric": "eval/accuracy"}
    first = maria.post("/jobs", name="digits-by-cnn", epochs=6, **digits, **goal, target_value=0.95)
    second = jonas.post(
        "/jobs", name="rows-by-transformer", epochs=24, mode="parameter_server", **rows, **goal, target_value=0.93
    )
    _wait_until_placed([(maria, first["id"]), (jonas, second["id"])], seconds=STATE_WITHIN_S)
    third = maria.post("/jobs", name="digits-again", epochs=3, **digits, **goal, target_value=0.93)
    jobs = board.watch(console, [(maria, first["id"]), (jonas, second["id"]), (maria, third["id"])], seconds=seconds)
    console.print()
    console.print(board.table(jobs))
    return all(job["state"] == "succeeded" and (board.accuracy_of(job) or 0.0) >= job["target_value"] for job in jobs)


def _send(upload: DemoUpload) -> dict[str, Any]:
    """A second demo on the same platform uses what the first one brought."""
    person = upload.person
    project = person.named("/projects", "demo") or person.post(
        "/projects", organisation=person.organisation["id"], name="demo"
    )
    found: dict[str, Any] = person.named(f"/{upload.kind}", upload.name) or person.upload(
        f"/{upload.kind}", upload.filename, upload.content(), name=upload.name, project=project["id"], **upload.fields
    )
    return found


def _wait_until_placed(jobs: list[tuple[Person, str]], *, seconds: float) -> None:
    """Until every job has GPUs (or has ended), so that the next one finds the cluster as it is in daily use."""
    until = time.monotonic() + seconds
    while any(person.get(f"/jobs/{job_id}")["state"] == "queued" for person, job_id in jobs):
        if time.monotonic() > until:
            raise TimeoutError(
                f"the first jobs were not started within {seconds:.0f} s; see their page in the dashboard"
            )
        time.sleep(0.5)


def _described(version: dict[str, Any]) -> str:
    if "schema" in version:
        schema = version["schema"]
        return f"{schema.get('n_examples', 0):,} examples, {schema.get('n_classes', 0)} classes"
    return f"{version['kind']}, {version['size_bytes']:,} bytes"


if __name__ == "__main__":
    sys.exit(main())
