# SPDX-License-Identifier: Apache-2.0
"""Notebooks on the whole platform: a real JupyterLab in its sandbox, a real kernel and terminal through the proxy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from mlhub.demo.client import Person, RequestRefused
from tests.e2e.notebook_visitor import NotebookVisitor
from tests.platform import RunningPlatform, wait

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

SHORTEN = "from mlhub.jobs.models import Job; Job.objects.filter(pk='{}').update(limits={{'idle_s': 1.0}})"


@pytest.fixture
def bob(platform: RunningPlatform) -> Person:
    """Signed in anew for each test: one of them signs out."""
    return platform.person("nora", organisation="Notebooks")


def start(bob: Person, name: str) -> dict[str, Any]:
    project = bob.named("/projects", "p") or bob.post("/projects", organisation=bob.organisation["id"], name="p")
    job = bob.post("/jobs", kind="notebook", project=project["id"], name=name)
    assert (job["kind"], job["state"]) == ("notebook", "queued")
    return wait_ready(bob, job)


def wait_ready(bob: Person, job: dict[str, Any]) -> dict[str, Any]:
    def is_ready() -> bool:
        found = bob.get(f"/jobs/{job['id']}")
        assert found["state"] != "failed", found["failure"]
        return bool(bob.get(f"/jobs/{job['id']}/notebook")["is_ready"])

    wait(is_ready, message="the notebook did not answer")
    return job


def entered(platform: RunningPlatform, bob: Person, job: dict[str, Any]) -> NotebookVisitor:
    visitor = NotebookVisitor(platform, job["id"])
    answer = visitor.enter(bob.post(f"/jobs/{job['id']}/notebook")["url"])
    assert (answer.status_code, answer.headers["Location"]) == (303, "/lab")
    return visitor


def is_closed(socket: ClientConnection) -> bool:
    """Whether the other side ends it; what came before is passed over. Raises TimeoutError when it stays open."""
    try:
        while True:
            socket.recv(timeout=60)
    except ConnectionClosed:
        return True


def end(bob: Person, job: dict[str, Any]) -> None:
    bob.post(f"/jobs/{job['id']}/cancel")
    wait(lambda: bob.get(f"/jobs/{job['id']}")["state"] == "cancelled")


def test_a_kernel_and_a_terminal_work_through_the_proxy_and_the_folder_outlives_a_pause(
    platform: RunningPlatform, bob: Person
) -> None:
    job = start(bob, "work")
    visitor = entered(platform, bob, job)
    page = visitor.request("GET", "/lab", headers={"Sec-Fetch-Mode": "navigate"})
    assert page.status_code == 200
    assert '"token": ""' in page.text
    kernel = visitor.kernel()
    with visitor.socket(f"/api/kernels/{kernel}/channels?session_id=s") as socket:
        assert visitor.run(socket, "1+1") == "2"
        names = visitor.run(socket, "import os; print(*os.environ); open('kept.txt', 'w').write('as it was')")
        assert "MLHUB_NOTEBOOK_TOKEN" not in names
        assert "JUPYTER_TOKEN" not in names
    terminal = visitor.request("POST", "/api/terminals").json()["name"]
    with visitor.socket(f"/terminals/websocket/{terminal}") as socket:
        socket.send(json.dumps(["stdin", "echo $((6 * 7))\r"]))
        said = ""
        while "42" not in said:
            said += str(socket.recv(timeout=60))

    with visitor.socket(f"/api/kernels/{kernel}/channels?session_id=t") as socket:
        bob.post(f"/jobs/{job['id']}/pause")
        assert is_closed(socket)
    wait(lambda: bob.get(f"/jobs/{job['id']}")["state"] == "paused")
    away = visitor.request("GET", "/api/contents")
    assert (away.status_code, away.json()["code"]) == (409, "notebook_away")
    assert bob.get(f"/jobs/{job['id']}/artifacts") == []  # the folder is kept as it is

    bob.post(f"/jobs/{job['id']}/resume")
    wait_ready(bob, job)
    again = entered(platform, bob, job)
    assert again.request("GET", "/api/contents/kept.txt").json()["content"] == "as it was"

    # File > Shut Down: the job has succeeded, and its files are downloaded from it
    assert again.request("POST", "/api/shutdown").status_code == 200
    wait(lambda: bob.get(f"/jobs/{job['id']}")["state"] == "succeeded")
    assert bob.download(f"/jobs/{job['id']}/artifacts/output/kept.txt") == b"as it was"
    hours = bob.get(f"/jobs/{job['id']}")["attempts"]
    assert len(hours) == 2


def test_only_who_may_stop_a_notebook_gets_in_and_only_by_its_own_pages(platform: RunningPlatform, bob: Person) -> None:
    job = start(bob, "private")
    path = f"/jobs/{job['id']}/notebook"
    carla = platform.person("carla", organisation="Strangers")
    colleague = platform.person("colin", organisation="Notebooks", role="member")
    with pytest.raises(RequestRefused) as refused:
        carla.post(path)
    assert refused.value.problem["status"] == 404
    with pytest.raises(RequestRefused) as refused:
        colleague.post(path)
    assert refused.value.problem["status"] == 403

    stranger = NotebookVisitor(platform, job["id"])
    assert stranger.request("GET", "/api/kernels").status_code == 401
    led = stranger.request("GET", "/lab", headers={"Sec-Fetch-Mode": "navigate"})
    assert (led.status_code, led.headers["Location"]) == (303, f"{platform.url}/jobs/{job['id']}")
    with pytest.raises(InvalidStatus):
        stranger.socket("/api/events/subscribe")

    url = bob.post(path)["url"]
    visitor = NotebookVisitor(platform, job["id"])
    assert visitor.enter(url).status_code == 303
    again = NotebookVisitor(platform, job["id"])
    assert again.enter(url).status_code == 403
    assert again.cookies == {}
    assert visitor.request("GET", "/api/kernels").json() == []
    # the cookie opens no other notebook, and no other page uses it
    other = NotebookVisitor(platform, "0" * 8 + job["id"][8:], cookies=visitor.cookies)
    assert other.request("GET", "/api/kernels").status_code == 401
    evil = "http://evil.example"
    assert visitor.request("POST", "/api/kernels", headers={"Origin": evil}).status_code == 403
    assert visitor.request("GET", "/api/kernels", headers={"Origin": evil}).status_code == 403
    assert visitor.request("GET", "/api/kernels", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    with pytest.raises(InvalidStatus):
        visitor.socket("/api/events/subscribe", origin=evil)
    # neither the platform's API nor its session is at this address
    assert visitor.request("GET", "/api/v1/jobs").status_code == 404

    with visitor.socket("/api/events/subscribe") as socket:
        bob.post("/auth/logout")
        assert is_closed(socket)
    assert visitor.request("GET", "/api/kernels").status_code == 401
    end(platform.person("nora", organisation="Notebooks"), job)


def test_a_notebook_in_which_nothing_is_done_is_paused(platform: RunningPlatform, bob: Person) -> None:
    job = start(bob, "idle")
    platform.run_django("shell", "-c", SHORTEN.format(job["id"]))
    wait(lambda: bob.get(f"/jobs/{job['id']}")["state"] == "paused", message=platform.logs())
    assert bob.get(f"/jobs/{job['id']}/notebook")["reclaimed_at"] is not None
    kinds = [event["kind"] for event in bob.get(f"/jobs/{job['id']}/events")["results"]]
    assert "notebook.reclaimed" in kinds
    end(bob, job)


def test_a_server_that_hangs_is_seen_from_beside_it_and_its_pod_can_be_stopped(
    platform: RunningPlatform, bob: Person
) -> None:
    job = start(bob, "hangs")
    visitor = entered(platform, bob, job)
    with visitor.socket(f"/api/kernels/{visitor.kernel()}/channels?session_id=s") as socket:
        # of the kernel, JupyterLab is the parent; the cell has answered before
        stop = "import os, signal, threading; threading.Timer(1, os.kill, (os.getppid(), signal.SIGSTOP)).start(); 1"
        assert visitor.run(socket, stop) == "1"
    path = f"/jobs/{job['id']}/notebook"
    wait(lambda: bob.get(path)["silent_since"] is not None, message="the hanging server was not reported")
    found = bob.get(path)
    assert found["is_ready"] is False
    assert found["stops_at"] is not None
    end(bob, job)
