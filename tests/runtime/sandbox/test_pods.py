# SPDX-License-Identifier: Apache-2.0
"""Pods of the local backend: the same attacks from inside a gang, and what a pod must have nevertheless."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from mlhub.runtime.sandbox import pods
from tests.runtime.sandbox import ordinary_user
from tests.runtime.sandbox.attacks import ORDINARY, ROOT
from tests.runtime.sandbox.in_pods import OTHERS, WARM, WITH_GPU, attacks
from tests.runtime.sandbox.world import LANDLOCK, NAMESPACES

USERS = (ROOT, ORDINARY) if os.geteuid() == 0 else (ORDINARY,)


# what Landlock does not govern, and programs that train need too often to be refused it
NOT_CONTAINED = {
    NAMESPACES: set(),
    WARM: set(),
    WITH_GPU: {"escapes the kernel's choice of victims"},
    LANDLOCK: {
        "watches the platform's folder",
        "changes the mode of another's file",
        "gives a file to root",
        "connects to the database",
        "connects to an abstract socket",
        "sends a datagram",
        "reaches the internet",
        "asks the cloud's metadata server",
        "connects to the broker's socket",
    },
}


@functools.cache
def findings(user: str, mode: str = NAMESPACES) -> dict[str, Any]:
    done = ordinary_user.run("tests.runtime.sandbox.in_pods", mode, timeout_s=150, drop=user == ORDINARY)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["phase"] == "succeeded", found
    found["lines"] = [json.loads(line) for line in found["lines"]]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mode", [NAMESPACES, LANDLOCK, WARM, WITH_GPU])
@pytest.mark.parametrize("user", USERS)
def test_no_attack_of_a_pod_gets_anything_but_what_the_threat_model_names(user: str, mode: str) -> None:
    found = findings(user, mode)
    seen = {line["name"]: line for line in found["lines"] if "name" in line}
    assert set(seen) == {a.name for a in attacks()}
    assert {line["name"] for line in seen.values() if "BREACH" in line["output"]} <= NOT_CONTAINED[mode]
    assert (found["is_victim_well"], found["is_blob_whole"], found["planted"]) == (True, True, [])


@pytest.mark.slow
@pytest.mark.parametrize("mode", [NAMESPACES, LANDLOCK, WARM])
@pytest.mark.parametrize("user", USERS)
def test_nothing_that_a_pod_started_outlives_it(user: str, mode: str) -> None:
    assert findings(user, mode)["n_survivors"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_a_pod_has_its_own_files_and_keeps_what_it_writes(user: str) -> None:
    own = findings(user)["lines"][-1]["own"]
    assert own["token"] == "own token"
    assert own["shares_cache"] == []
    assert not {"MLHUB_SECRET_KEY", "DATABASE_URL", "REDIS_URL"} & set(own["environment"])
    assert any(path.startswith("checkpoints/") for path in findings(user)["kept"])
    assert any(path.endswith("work/kept") for path in findings(user)["kept"])


@pytest.mark.parametrize("mode", [NAMESPACES, LANDLOCK, WARM])
@pytest.mark.parametrize("user", USERS)
def test_a_pod_reaches_the_ingest_api_by_its_name_and_the_other_pods_of_its_gang(user: str, mode: str) -> None:
    own = findings(user, mode)["lines"][-1]["own"]
    # from another address than people and proxies of the machine have
    assert own["pages"] == [f"ingest for 127.0.0.{1 if mode == LANDLOCK else 2}"] * 3
    assert own["neighbour"] == "from 1"


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_a_pod_in_its_gang_s_network_reaches_no_other_route_of_the_web_server(user: str) -> None:
    others = findings(user)["lines"][-1]["own"]["others"]
    assert others == dict.fromkeys(OTHERS, 404)


@pytest.mark.parametrize("user", USERS)
def test_pods_of_a_platform_that_is_root_have_another_user(user: str) -> None:
    uid = findings(user)["lines"][-1]["own"]["uid"]
    assert uid != 0
    assert findings(user)["checkpoint_uid"] == uid


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
def test_a_pod_with_a_gpu_names_its_threads_without_which_cuda_does_not_start(user: str) -> None:
    assert findings(user, WITH_GPU)["lines"][-1]["own"]["names_threads"] is True
    assert findings(user)["lines"][-1]["own"]["names_threads"] is False


def test_a_pod_may_open_the_device_files_that_it_was_given_and_of_no_other_gpu(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    given = ["/dev/full", "/dev/nvidia-that-is-not-there"]
    pods.enclose(
        ["true"], {}, folder=tmp_path, work=work, readable=[], writable=[work], tenant="t", devices=given, ingest=None
    )  # fmt: skip
    opened = json.loads((tmp_path / "confinement.json").read_text())["devices"]
    assert "/dev/full" in opened
    assert not [path for path in opened if path.startswith("/dev/nvidia")]
