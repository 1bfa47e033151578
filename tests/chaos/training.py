# SPDX-License-Identifier: Apache-2.0
"""A long job of one person on a running platform, and how it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from mlhub.client.job_parts import points
from mlhub.demo.client import Person, RequestRefused
from tests.platform import RunningPlatform, wait
from tests.runtime.gang import write_blobs

AWAY = (httpx.HTTPError, OSError, RequestRefused)  # 503 while the database comes back

OWNERS = {"A": "alice", "B": "charlie"}


class Training:
    """epochs: of the job; the default lasts longer than any test. organisation: one that has no other training."""

    def __init__(
        self, platform: RunningPlatform, folder: Path, *, epochs: int = 50_000, organisation: str = "A"
    ) -> None:
        self.platform, self.organisation = platform, organisation
        self.sign_in()
        content = write_blobs(folder / "blobs.npz", n=2000).read_bytes()
        project = self.person.post("/projects", organisation=self.person.organisation["id"], name="p")
        dataset = self.person.upload("/datasets", "blobs.npz", content, name="blobs", project=project["id"])
        self.person.wait_ready(f"/datasets/{dataset['id']}")
        mlp = next(m for m in self.person.get("/models", limit=200)["results"] if m["name"] == "mlp")
        self.body = {"dataset": dataset["id"], "model": mlp["id"], "epochs": epochs, "batch_size": 64}
        self.id = self.person.post("/jobs", **self.body, min_workers=2, max_workers=2)["id"]
        wait(lambda: self.steps() > 200, seconds=600, message=platform.logs())

    def sign_in(self) -> None:
        """Again after each start of the platform, whose address may be another."""
        self.person: Person = self.platform.person(OWNERS[self.organisation], organisation=self.organisation)

    def job(self) -> dict[str, Any]:
        found: dict[str, Any] = self.person.get(f"/jobs/{self.id}")
        return found

    def steps(self) -> int:
        return int(self.job()["steps_done"])

    def points(self) -> dict[int, float]:
        """Of the training loss, by step; all that are stored."""
        return {p["step"]: p["value"] for p in points(self.person, self.id, "train/loss")}

    def moves_on(self) -> None:
        """It trains further than it had when this was asked."""

        def more(than: int) -> bool:
            try:
                return self.steps() > than
            except AWAY:
                return False

        seen: list[int] = []

        def first() -> bool:
            try:
                seen.append(self.steps())
            except AWAY:
                return False
            return True

        wait(first, seconds=600, message=self.platform.logs())
        wait(lambda: more(seen[0]), seconds=600, message=self.platform.logs())
