# SPDX-License-Identifier: Apache-2.0
"""mlhub agent: machines that join a cluster without Kubernetes; `run` is the agent of this machine."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from mlhub._version import __version__
from mlhub.cli.commands.cluster import state_of_node
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError
from mlhub.cli.output import Format, until
from mlhub.cli.session import session_of

agent = typer.Typer(help="Machines that join the cluster without Kubernetes.", no_args_is_help=True)
AgentName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the machine, which its node has.")]


@agent.command()
def run(
    server: Annotated[str, typer.Option(help="Address of the platform, as seen from here.")],
    token: Annotated[
        str, typer.Option(envvar="MLHUB_AGENT_TOKEN", help="Token of the agent; other users see it in `ps`.")
    ] = "",
    token_file: Annotated[str, typer.Option(help="A file with the token instead.")] = "",
    home: Annotated[
        str, typer.Option(help="Folder of its state; by default /var/lib/mlhub-agent for root, else ~/.mlhub-agent.")
    ] = "",
    address: Annotated[
        str,
        typer.Option(
            help="Where its pods listen for those of other machines; by default the address that reaches the platform."
        ),
    ] = "",
    rack: Annotated[str, typer.Option(help="Machines of a rack are near each other.")] = "rack-1",
    slots: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Workers at a time without GPUs; by default half the processors."),
    ] = None,
    cpus: Annotated[float | None, typer.Option(min=0.1, help="Processors that jobs may have; by default all.")] = None,
    memory: Annotated[str, typer.Option(help="Memory that jobs may have, such as 64GiB; by default all.")] = "",
    gpu_type: Annotated[str, typer.Option(help="Type of its GPUs; by default as the driver names it.")] = "",
    no_gpus: Annotated[bool, typer.Option("--no-gpus", help="Leave its GPUs to others.")] = False,
) -> None:
    """Bring this machine into a cluster, and stay. Ctrl-C ends the agent; its pods go on for a while."""
    if any(find_spec(name) is None for name in ("torch", "pynvml")):
        raise CommandError(
            "What runs jobs is not installed here.",
            remedy=f"Install it: pip install '.[agent]' in the checkout of MLHub {__version__}.",
        )
    given: dict[str, Any] = {
        "--server": server, "--token-file": token_file, "--home": home, "--address": address, "--rack": rack,
        "--slots": slots, "--cpus": cpus, "--memory": memory, "--gpu-type": gpu_type,
    }  # fmt: skip
    words = [f"{name}={value}" for name, value in given.items() if value not in (None, "")]
    if token:
        os.environ["MLHUB_AGENT_TOKEN"] = token  # not among the words of the process that stays
    os.execv(  # noqa: S606 - this program's own
        sys.executable,
        [sys.executable, "-m", "mlhub.agent", *words, *(["--no-gpus"] if no_gpus else [])],
    )


@agent.command("ls")
def list_agents(context: typer.Context) -> None:
    """List the machines with an agent, when each reported last, and what is wrong with it."""
    session = session_of(context)
    nodes = {node["name"]: node for rack in session.api.get("/cluster")["racks"] for node in rack["nodes"]}
    columns = {
        "NAME": lambda row: row["name"],
        "SEEN": lambda row: until(row["seen_at"]) or "never",
        "ADDRESS": lambda row: row["address"],
        "VERSION": lambda row: row["version"],
        "STATE": lambda row: _state(row, nodes.get(row["name"])),
    }
    session.output.rows(session.api.get("/agents")["results"], columns)


@agent.command("token")
def make_token(context: typer.Context, name: AgentName) -> None:
    """Make the token of the agent of a machine, which is shown once; an earlier one is refused from then on."""
    session = session_of(context)
    made = session.api.post("/agents", name=name)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
        return
    session.output.line(made["token"])
    session.output.note(f"Shown this once. On {name}: MLHUB_AGENT_TOKEN=... mlhub agent run --server {session.api.url}")


@agent.command("rm")
def remove(context: typer.Context, name: AgentName, yes: Yes = False) -> None:
    """Remove a machine: its token is refused, and its jobs begin again elsewhere from their checkpoints."""
    session = session_of(context)
    require_yes(f"Remove {name} from the cluster, and end what runs there?", yes=yes)
    within_s = session.api.get("/agents")["ends_within_s"]
    session.api.delete(f"/agents/{name}")
    session.output.note(
        f"Removed: {name}. What runs there ends within {within_s:.0f} s; its results are no longer taken, and its jobs "
        "begin again elsewhere in the meantime. The agent's folder stays on the machine, with cached data of jobs: end "
        "the agent there, and remove the folder of its --home (/var/lib/mlhub-agent for root, else ~/.mlhub-agent)."
    )


def _state(row: dict[str, Any], node: dict[str, Any] | None) -> str:
    words = {
        "expected": "has not reported yet" if row["seen_at"] is None else "its new token is not in use yet",
        "closed": f"not ready: {row['problem']}",
        "silent": "silent: it gets no new jobs until it reports again",
        "lost": "lost: its jobs go on elsewhere",
    }
    if row["state"] in words:
        return words[row["state"]]
    return "joins" if node is None else state_of_node(node)
