# SPDX-License-Identifier: Apache-2.0
"""Launch specifications for tests of backends, and the small program that stands in for the runtime."""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import uuid4

from mlhub.backends.protocol import SandboxSpec
from mlhub.wire.launch import (
    AttemptId,
    LaunchSpec,
    ModelSpec,
    PodPlacement,
    PodRole,
    Resources,
    SyncMode,
    TrainingSpec,
)
from mlhub.wire.sandbox import BlobArgument, SandboxTask

# behave: run | done | stubborn | exit <code> | eat | fill | fill removed | nest; a list gives each worker its own
PROGRAM = """
import json, os, signal, sys, time
spec = json.load(open(os.environ["MLHUB_SPEC"]))
behave = spec["training"]["hyperparameters"]["behave"]
if spec["role"] == "server":
    behave = "run"
elif isinstance(behave, list):
    behave = behave[spec["index"]]
signal.signal(signal.SIGTERM, signal.SIG_IGN if behave == "stubborn" else lambda *_: sys.exit(75))
print("pod", spec["role"], spec["index"], "runs", flush=True)
if behave == "done":
    sys.exit(0)
if behave.startswith("exit"):
    time.sleep(0.3); sys.exit(int(behave.split()[1]))
eaten = []
if behave.startswith("fill"):
    filled = open("filled", "wb")
    if behave == "fill removed":
        os.remove("filled")
if behave == "nest":
    for _ in range(3000):
        os.mkdir("d"); os.chdir("d")
while True:
    if behave.startswith("fill"):
        filled.write(os.urandom(1 << 20)); filled.flush()
    if behave == "eat":
        eaten.append(bytearray(os.urandom(1 << 20) * 20))
    time.sleep(0.05)
"""

SANDBOX_RUN = SandboxSpec(
    run_id="018f0000-0000-7000-8000-000000000001",
    task=SandboxTask(("dataset", "--path", BlobArgument("ab" * 32, 1000)), 60.0, 2**30, 2**30),
    api_url="http://mlhub.example",
    token="a-token",
    deadline_s=300.0,
    labels={"organisation": "acme", "project": "signs", "project_id": "018f0000-0000-7000-8000-0000000000bb"},
)


def program(folder: Path) -> list[str]:
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return [sys.executable, "-S", str(path)]


def gang(
    behave: str | list[str] = "run",
    *,
    workers: int = 1,
    servers: int = 0,
    node: str = "node-1",
    slots: tuple[int, ...] = (0,),
    memory_bytes: int = 2**30,
    survives: bool = False,
) -> LaunchSpec:
    """A gang whose first worker is on `node`; a second one on node-2. survives: workers but the first may be lost."""
    nodes = [node, "node-2"]
    pods = [
        PodPlacement(PodRole.WORKER, i, nodes[i % 2], Resources(1, 1, memory_bytes), slots=slots)
        for i in range(workers)
    ] + [PodPlacement(PodRole.SERVER, i, node, Resources(0, 1, memory_bytes)) for i in range(servers)]
    return LaunchSpec(
        attempt_id=AttemptId(str(uuid4())),
        job_id=str(uuid4()),
        attempt_number=1,
        mode=SyncMode.PARAMETER_SERVER if servers else SyncMode.ALL_REDUCE,
        pods=tuple(pods),
        inputs=(),
        dataset=None,
        model=ModelSpec("builtin", "mlp"),
        training=TrainingSpec(1, 1, hyperparameters={"behave": behave}),
        api_url="",
        token="attempt-token",
        gang_secret="00ff",
        checkpoint_uri="file:///nowhere",
        survives_lost_workers=survives,
    )
