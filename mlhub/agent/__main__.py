# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.agent: the agent of this machine, in the foreground. `mlhub agent run` starts it."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mlhub import _installation
from mlhub.agent.authorities import CA_FILE, trusted_file
from mlhub.agent.enclosures import enclose
from mlhub.agent.gangs import MachineGangs
from mlhub.agent.lease import Lease
from mlhub.agent.machine import MachineError, address_and_interface, node_of_machine, own_address
from mlhub.agent.platform_api import AgentRefusedError, PlatformApi, checked_server, name_of
from mlhub.agent.program import AgentProgram, AgentRunsAlreadyError, instance_of, locked
from mlhub.agent.project_caches import ProjectCaches
from mlhub.agent.shared_folder import SharedFolder
from mlhub.agent.warm_workers import warm_pool
from mlhub.backends.local.cluster import LocalPlace
from mlhub.backends.local.gpu_driver import nvml_driver
from mlhub.backends.local.gpus import LocalGpus
from mlhub.backends.local.pods import PodStarter
from mlhub.backends.protocol import NodeStatus
from mlhub.runtime.sandbox.group_plans import planned_group

TOKEN = "MLHUB_AGENT_TOKEN"
TOKEN_WITHIN_S = 60.0
POD = (sys.executable, "-m", "mlhub.runtime")
UNITS = {"mib": 2**20, "gib": 2**30, "tib": 2**40}


def main(argv: list[str] | None = None, *, pod: Sequence[str] = POD) -> int:
    """pod: what a pod runs."""
    options = _parser().parse_args(argv)
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        server, token = checked_server(options.server), _token(options)
        name = name_of(token)
        home = Path(options.home).resolve()
        with locked(home):
            agent = _agent(options, home=home, server=server, token=token, name=name, pod=pod)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: agent.is_asked_to_end.set())
            try:
                agent.run()
            finally:
                if agent.warm is not None:
                    agent.warm.close()
    except (AgentRefusedError, MachineError, AgentRunsAlreadyError) as error:
        print(f"mlhub agent: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mlhub agent: {error} (its folder of state: {options.home})", file=sys.stderr)
        return 1
    return 0


def _agent(
    options: argparse.Namespace, *, home: Path, server: str, token: str, name: str, pod: Sequence[str]
) -> AgentProgram:
    address, interface = address_and_interface(options.address or own_address(server))
    driver = None if options.no_gpus else nvml_driver()
    readings = driver.read() if driver is not None else ()
    node = node_of_machine(
        name,
        readings,
        interface=interface,
        rack=options.rack,
        slots=options.slots,
        cpus=options.cpus,
        memory_bytes=options.memory,
        jobs_per_gpu=options.jobs_per_gpu,
        gpu_type=options.gpu_type,
    )
    gpus = LocalGpus(home, driver, {name: [r.uuid for r in readings]}) if driver is not None and readings else None
    lease = Lease(home / "lease")
    authorities = trusted_file(home, os.environ.get(CA_FILE, ""))
    starter = PodStarter(
        argv=pod,
        lease=str(lease.path),
        enclose=partial(enclose, is_network_open=options.pod_network == "host", authorities=authorities),
        gpus=gpus,
        plan_group=planned_group,
        warm=warm_pool(home, options.warm_workers),
        pod_disk_bytes=options.pod_disk_bytes,
    )
    place = LocalPlace(address, interface, is_shared_network=True)
    gangs = MachineGangs(home, name=name, starter=starter, place=place, server=server)

    def seen() -> NodeStatus:
        return node if gpus is None else gpus.status(node, gangs.folders())

    api, instance = PlatformApi(server, token, authorities=authorities), instance_of(home)
    return AgentProgram(
        api,
        gangs,
        node=seen,
        address=address,
        lease=lease,
        folder=SharedFolder(home / "checkpoint-folder.json", name),
        instance=instance,
        caches=ProjectCaches(home / "cache", api, instance=instance, used=gangs.projects),
        warm=starter.warm,
    )


def _token(options: argparse.Namespace) -> str:
    if options.token_file:
        return _written(Path(options.token_file))
    token = options.token or os.environ.get(TOKEN, "")
    if not token:
        raise AgentRefusedError(
            f"Give the agent's token as --token-file or {TOKEN}. An administrator makes it: `mlhub agent token NAME`."
        )
    return str(token).strip()


def _written(file: Path) -> str:
    """The file's content; one that is about to be written, as the embedded platform does, is waited for."""
    until = time.monotonic() + TOKEN_WITHIN_S
    while True:
        try:
            if token := file.read_text().strip():
                return token
        except FileNotFoundError:
            pass
        if time.monotonic() > until:
            raise AgentRefusedError(f"There is no token in {file}.")
        time.sleep(0.5)


def default_home() -> str:
    return "/var/lib/mlhub-agent" if os.geteuid() == 0 else str(Path.home() / ".mlhub-agent")


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2].lower() not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r}; write it like 64GiB")
    return int(float(match[1]) * UNITS[match[2].lower()])


def _whole(text: str, *, least: int, name: str) -> int:
    if not text.strip().isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r}; give a whole number of at least {least}, here or as {name}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    variables = os.environ
    parser = argparse.ArgumentParser(prog="mlhub agent run", description=__doc__)
    parser.add_argument("--server", required=True, help="the platform's address, as this machine reaches it")
    parser.add_argument("--token", default="", help=f"the agent's token; better {TOKEN} or --token-file")
    parser.add_argument("--token-file", default="")
    parser.add_argument("--home", default=os.environ.get("MLHUB_AGENT_HOME") or default_home())
    parser.add_argument("--address", default=os.environ.get("MLHUB_AGENT_ADDRESS", ""))
    parser.add_argument("--rack", default="rack-1")
    parser.add_argument("--slots", type=int, default=None)
    parser.add_argument("--cpus", type=float, default=None)
    parser.add_argument("--memory", type=_bytes, default=None)
    parser.add_argument("--gpu-type", default="")
    parser.add_argument("--no-gpus", action="store_true", default=variables.get("MLHUB_GPUS") == "none")
    for setting, least, usual in (  # defaults as text: argparse reads them as it reads options
        ("JOBS_PER_GPU", 1, 1),
        ("WARM_WORKERS", 0, _installation.default_warm_workers()),
        ("POD_DISK_BYTES", 0, 0),
    ):
        name = f"MLHUB_{setting}"
        option = f"--{setting.lower().replace('_', '-')}"
        kind = partial(_whole, least=least, name=name)
        parser.add_argument(option, type=kind, default=variables.get(name) or str(usual))
    network = variables.get("MLHUB_POD_NETWORK") or "gang"
    parser.add_argument("--pod-network", choices=("gang", "host"), default=network)
    return parser


if __name__ == "__main__":
    sys.exit(main())
