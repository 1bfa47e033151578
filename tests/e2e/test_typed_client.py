# SPDX-License-Identifier: Apache-2.0
"""A whole session with the typed client on the whole platform: upload, submit, follow, wait, fetch; with async, too."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from mlhub.client import AsyncClient, Client, Refused
from tests.platform import ROOT, RunningPlatform

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]
ROWS = "\n".join(f"{i % 3}.{i % 7},{i % 2}.5,{'lily' if i % 3 else 'rose'}" for i in range(120))
TABLE = ("flowers.csv", f"length,width,species\n{ROWS}\n".encode())


@pytest.fixture(scope="module")
def token(platform: RunningPlatform) -> str:
    person = platform.person("dora", organisation="Typed")
    person.post("/projects", organisation=person.organisation["id"], name="typed")
    return str(person.post("/tokens", name="sdk", scopes=["read", "write"])["token"])


def test_a_session_with_calls_that_block(platform: RunningPlatform, token: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with Client(platform.url, token, progress=lines.append) as client:
        dataset = client.datasets.create(name="flowers", project="typed", target="species", file=TABLE)
        assert dataset.latest_version is not None
        version = client.dataset_versions.wait(dataset.latest_version, timeout_s=120)
        job = client.jobs.submit(dataset_version=version.id, model="mlp", epochs=3, name="typed")
        followed = [line.seq for line in client.jobs.logs(job, follow=True)]
        done = client.jobs.wait(job, timeout_s=300)
        assert followed
        assert followed == [line.seq for line in client.jobs.logs(job)]
        assert client.jobs.metrics(job, key="train/loss", exact=True).series[0].points
        assert done.result_version is not None
        weights = client.model_versions.download(
            done.result_version, what="weights", to=tmp_path / "weights.safetensors"
        )
        assert load_file(weights)
    assert lines[0] == "Uploading flowers.csv"
    assert lines[-1] == "typed: succeeded"


def test_the_session_of_the_readme_holds_word_for_word(
    platform: RunningPlatform, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S) if "Client(" in b]
    (tmp_path / "iris.csv").write_bytes(TABLE[1])
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"TOKEN": token}
    exec(block.replace("http://127.0.0.1:8000", platform.url).replace('"research"', '"typed"'), names)
    assert names["done"].state == "succeeded"
    assert load_file(tmp_path / "iris.safetensors")


def test_a_session_with_async_has_jobs_side_by_side(platform: RunningPlatform, token: str, tmp_path: Path) -> None:
    async def run() -> tuple[list[str], Path, str]:
        async with AsyncClient(platform.url, token) as client:
            dataset = await client.datasets.create(name="more", project="typed", target="species", file=TABLE)
            version = await client.datasets.wait(dataset, timeout_s=120)
            jobs = [await client.jobs.submit(dataset_version=version.id, model="mlp", epochs=e) for e in (1, 2)]
            events: list[str] = []

            async def watch() -> None:
                async for frame in client.jobs.follow(jobs[0]):
                    events.append(frame.event)

            first, second, _ = await asyncio.gather(*(client.jobs.wait(j, timeout_s=300) for j in jobs), watch())
            asked = await client.jobs.submit(kind="predict", model_of=first.id, dataset_version=version.id)
            await client.jobs.wait(asked, timeout_s=300)
            path = await client.jobs.download_result(asked, to=tmp_path / "answers.parquet")
            await client.jobs.cancel(second) if second.state == "running" else None
            with pytest.raises(Refused):
                await client.jobs.cancel(asked)
            return events, path, second.state

    events, path, state = asyncio.run(run())
    assert "job" in events
    assert path.stat().st_size > 0
    assert state == "succeeded"
