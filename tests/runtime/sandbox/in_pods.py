# SPDX-License-Identifier: Apache-2.0
"""python -m tests.runtime.sandbox.in_pods: attacks from inside a pod of the local backend, as the user that runs this.

Reads what isolates the pod from standard input: namespaces, landlock alone, namespaces around warm workers or a GPU.

Writes one JSON object: what each attack printed, what became of the victims, and what the pod found of its own.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mlhub.agent.enclosures import enclose
from mlhub.backends.local import LocalBackend, read_cluster
from mlhub.backends.local.warm_pool import WarmPool
from mlhub.runtime.sandbox import pods
from mlhub.runtime.sandbox.runner import PROJECT
from mlhub.wire.launch import PodRole
from tests.backends import warm
from tests.backends.specs import gang
from tests.runtime.sandbox.attacks.attack import PRELUDE, Attack
from tests.runtime.sandbox.attacks.calls import CALLS
from tests.runtime.sandbox.attacks.files import FILES
from tests.runtime.sandbox.attacks.network import NETWORK
from tests.runtime.sandbox.attacks.processes import PROCESSES
from tests.runtime.sandbox.world import NAMESPACES, World, _marked, isolation_of, world

POD = """
import json, os, subprocess, sys, tempfile
import socket, time, urllib.error, urllib.request
attacks, bait, prelude = json.loads(sys.argv[1])

def ask(path):
    try:
        return urllib.request.urlopen(os.environ["MLHUB_API_URL"] + path, timeout=600).read().decode()
    except urllib.error.HTTPError as error:
        return error.code

def meet_neighbour():  # the pods of a gang connect to each other
    me, (mine, its) = int(os.environ["RANK"]), bait["meeting"][:: 1 if os.environ["RANK"] == "0" else -1]
    with socket.create_server(("127.0.0.1", mine)) as server:
        for _ in range(1200):
            try:
                with socket.create_connection(("127.0.0.1", its), 1) as there:
                    there.sendall(b"from %d" % me)
                break
            except OSError:
                time.sleep(0.1)
        server.settimeout(30)
        with server.accept()[0] as came:
            return came.makefile().read()

def name_thread():  # as CUDA does, by a file that is there
    try:
        with open(f"/proc/{os.getpid()}/task/{os.getpid()}/comm", "w") as file:
            return bool(file.write("cuda"))
    except OSError:
        return False

if os.environ["RANK"] == "1":
    meet_neighbour()
    sys.exit(0)
bait["token"] = "".join(map(chr, bait["token"]))
for name, code in attacks.items():
    with tempfile.TemporaryFile("w+") as output:
        program = f"bait = {bait!r}\\n{prelude}{code}"
        done = subprocess.run([sys.executable, "-S", "-"], input=program, text=True, stdout=output, stderr=output)
        output.seek(0)
        print(json.dumps({"name": name, "code": done.returncode, "output": output.read()[-2000:]}), flush=True)
own = {
    "pages": [ask("/api/v1/ingest/attempts/" + os.environ["MLHUB_ATTEMPT_ID"] + "/reports") for _ in range(3)],
    "others": {path: ask(path) for path in bait["others"]}, "neighbour": meet_neighbour(),
    "names_threads": name_thread(),
    "uid": os.getuid(), "processes": [n for n in os.listdir("/proc") if n.isdigit()], "environment": dict(os.environ),
    "token": open(os.environ["MLHUB_TOKEN_FILE"]).read(), "shares_cache": os.listdir(os.environ["MLHUB_CACHE_DIR"]),
}
open(os.environ["MLHUB_WORK_DIR"] + "/kept", "w").write("x")
open(os.environ["CHECKPOINTS"] + "/kept", "w").write("x")
print(json.dumps({"own": own}), flush=True)
"""
WARM, WITH_GPU = "warm", "with a GPU"
A_DEVICE = "/dev/full"  # in place of a GPU's device file
OTHERS = (
    "/", "/api/v1/jobs", "/admin/", "/healthz", "/metrics", "/api/v1/ingest/attempts/another/reports",
    "/api/v1/ingest/attempts/../../jobs",
)  # fmt: skip
PERMITTED = {"runs a program from memory"}  # gangs hand memory to each other by such a file


def attacks() -> list[Attack]:
    kept = [a for a in (*FILES, *PROCESSES, *CALLS, *NETWORK) if a.aims_at != "supervisor"]
    return [a for a in kept if a.name not in PERMITTED]


def run(here: World, folder: Path, *, is_warm: bool, devices: Sequence[str]) -> dict[str, object]:
    """is_warm: the pods are warm workers' until then, without torch, which makes no difference here.

    devices: the files of the GPUs that pods are given.
    """
    warm_workers = warm.ready(warm.pool(folder, size=2)) if is_warm else None
    with ingest_api() as address:
        mark = f"mark-{os.getpid()}"
        return _attacked(here, folder, warm_workers, mark=mark, api_url=address, devices=devices)


@contextlib.contextmanager
def ingest_api() -> Iterator[str]:
    """A server that answers every request, on a host that has a name."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"ingest for {self.client_address[0]}".encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def _attacked(
    here: World, folder: Path, warm_workers: WarmPool | None, *, mark: str, api_url: str, devices: Sequence[str]
) -> dict[str, object]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other_one:
        meeting = [one.getsockname()[1], other_one.getsockname()[1]]
    bait = here.bait(here.sandbox, mark) | {"token": [ord(c) for c in here.token], "meeting": meeting, "others": OTHERS}
    argument = json.dumps([{a.name: a.code for a in attacks()}, bait, PRELUDE])
    checkpoints = folder / "checkpoints" / "job"
    other = folder / "home" / "cache" / "another-project"
    other.mkdir(parents=True)
    backend = LocalBackend(
        folder / "home",
        read_cluster(PROJECT / "deploy" / "local" / "cluster.yaml"),
        argv=[
            sys.executable,
            *([] if warm_workers else ["-S"]),
            "-c",
            f"import os; os.environ['CHECKPOINTS'] = {str(checkpoints)!r}\n{POD}",
            argument,
        ],
        enclose=lambda *words, **how: enclose(*words, **{**how, "devices": devices}),
        warm=warm_workers,
    )
    spec = replace(
        gang("done", workers=2),
        checkpoint_uri=checkpoints.as_uri(),
        labels={"project_id": "a-project"},
        token="own token",
        api_url=api_url,
    )
    backend.launch(spec)
    assert warm_workers is None or warm_workers.n_ready == 0
    until = time.monotonic() + 90
    while not (status := backend.observe()[0]).phase.is_ended and time.monotonic() < until:
        time.sleep(0.1)
    lines = list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=0))
    survivors = _marked(mark)
    seen = here.observed("", 0, "", "", "", mark)
    kept = [str(path.relative_to(folder)) for path in folder.rglob("kept")]
    return {
        "phase": status.phase, "message": status.message, "lines": lines, "kept": kept, "planted": seen.planted,
        "is_victim_well": seen.is_victim_well, "is_blob_whole": seen.is_blob_whole, "n_survivors": len(survivors),
        "checkpoint_uid": (checkpoints / "kept").stat().st_uid if (checkpoints / "kept").exists() else None,
    }  # fmt: skip


if __name__ == "__main__":
    mode = sys.stdin.read() or NAMESPACES
    pods.isolation = lambda: isolation_of(NAMESPACES if mode in (WARM, WITH_GPU) else mode)
    with world() as here, tempfile.TemporaryDirectory() as name:
        print(json.dumps(run(here, Path(name), is_warm=mode == WARM, devices=[A_DEVICE] if mode == WITH_GPU else [])))
