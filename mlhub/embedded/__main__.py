# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.embedded up|down|status|backup|restore|env|doctor: the embedded platform, from the command line."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from mlhub.backends.local import ClusterFileError
from mlhub.backends.local.gpu_driver import nvml_driver
from mlhub.embedded.checks.doctor import CheckResult, check_gpus, examine
from mlhub.embedded.checks.examiner import lines_of
from mlhub.embedded.home import PROJECT, Home, Platform
from mlhub.embedded.postgres import PostgresError
from mlhub.embedded.recovery import backup, restore
from mlhub.embedded.setup_code import read_setup_code
from mlhub.embedded.supervisor import AlreadyRunningError, StartError, Supervisor
from mlhub.embedded.valkey import ValkeyError

ALREADY_RUNNING, NOT_RUNNING = 3, 4
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.embedded", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start everything and stay; Ctrl-C stops it")
    up.add_argument("--demo", action="store_true", help="play the demo once the platform is up")
    up.add_argument("--exit", action="store_true", help="stop when the demo has ended, with its status")
    commands.add_parser("down", help="stop a running platform")
    commands.add_parser("status", help="say whether it runs, and where")
    backup = commands.add_parser("backup", help="write database, blobs and keys to one file, at any time")
    backup.add_argument("file", type=Path)
    backup.add_argument("--checkpoints", action="store_true", help="also the newest one of each unfinished job")
    backup.add_argument("--verify", action="store_true", help="instead: read such a file, its database on trial")
    restore = commands.add_parser("restore", help="make a stopped platform what a backup shows")
    restore.add_argument("file", type=Path)
    restore.add_argument("--force", action="store_true", help="also in place of a platform that people have used")
    commands.add_parser("env", help="print the variables that manage.py needs to reach a running platform")
    commands.add_parser(
        "doctor", help="check database, Valkey, workers, clock, web, rounds, nodes, sandbox, GPUs, disk and folders"
    )
    arguments = parser.parse_args(argv)
    home, console = Home.of_environment(), Console(highlight=False)
    if arguments.command == "up":
        return _up(home, console, demo=arguments.demo, leave=arguments.exit)
    if arguments.command in ("backup", "restore"):
        return _recover(home, console, arguments)
    return {"down": _down, "status": _status, "env": _env, "doctor": _doctor}[arguments.command](home, console)


def _up(home: Home, console: Console, *, demo: bool, leave: bool) -> int:
    try:
        with Supervisor(home, console=console) as supervisor:
            supervisor.start()
            status = 0
            if not (gpus := check_gpus(home.path, nvml_driver)).is_ok:
                _print(console, gpus)  # jobs would fail one after the other
            if not demo and (code := read_setup_code(supervisor.url, supervisor.environment)):
                offer = f"Create the first administrator: {supervisor.url}/sign-in, setup code [bold]{code}[/]"
                console.print(offer, soft_wrap=True)  # in a log, too, address and code stand in one line
            if demo:
                argv = [sys.executable, "-m", "mlhub.demo", "--url", supervisor.url, "--home", str(home.path)]
                played = subprocess.Popen(argv, cwd=PROJECT, env=supervisor.environment)
                status = supervisor.watch(played)
            if not (demo and leave):
                console.print("Ctrl-C stops the platform.")
                supervisor.watch()
            return status
    except AlreadyRunningError as error:
        console.print(str(error))
        return ALREADY_RUNNING
    except (StartError, PostgresError, ValkeyError, ClusterFileError) as error:
        console.print("[red]MLHub could not start.[/]", escape(str(error)), markup=True)
        return 1
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        console.print("[red]MLHub could not start.[/]", escape(no_room(home, error)), markup=True)
        return 1


def no_room(home: Home, error: OSError) -> str:
    return f"{error.filename or home.path} cannot be written: {error.strerror}. Make room there, then repeat it."


def _down(home: Home, console: Console) -> int:
    pid = home.supervisor_pid()
    if pid is None:
        console.print(f"No platform runs in {home.path}.")
        return 0
    os.kill(pid, signal.SIGTERM)
    while home.supervisor_pid():
        time.sleep(0.1)
    console.print("Stopped.")
    return 0


def running(home: Home) -> Platform | None:
    """The platform of that home, where it runs."""
    return home.platform() if home.supervisor_pid() else None


def _status(home: Home, console: Console) -> int:
    platform = running(home)
    if platform is None:
        console.print(f"No platform runs in {home.path}.")
        return NOT_RUNNING
    console.print(f"{platform.url} (home {home.path})")
    for name, process in platform.pids.items():
        console.print(f"  {name:<10} process {process}")
    return 0


def _recover(home: Home, console: Console, arguments: argparse.Namespace) -> int:
    try:
        if arguments.command == "restore":
            return restore(home, arguments.file, force=arguments.force)
        options = [f"--{name}" for name in ("checkpoints", "verify") if getattr(arguments, name)]
        return backup(home, arguments.file, options=options, is_running=home.supervisor_pid() is not None)
    except AlreadyRunningError as error:
        console.print(str(error))
        return ALREADY_RUNNING
    except PostgresError as error:
        console.print(f"The database could not be started. {error}", markup=False)
        return 1
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        console.print(no_room(home, error), markup=False)
        return 1


def _env(home: Home, console: Console) -> int:
    platform = home.platform()
    if platform is None:
        console.print(f"No platform has run in {home.path} yet.")
        return NOT_RUNNING
    for name, value in variables_of(home, platform).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def variables_of(home: Home, platform: Platform) -> dict[str, str]:
    """What manage.py needs to reach that platform, and this process does not have."""
    variables = home.environment(url=platform.url, database_url=platform.database_url, redis_url=platform.redis_url)
    if backend := home.backend():  # whatever this shell says, or does not say
        variables["MLHUB_BACKEND"] = backend
    names = set(variables) - set(os.environ) | {n for n in variables if n.startswith("MLHUB_")}
    return {name: variables[name] for name in sorted(names)}


def _doctor(home: Home, console: Console) -> int:
    has_failed = False
    for result in examine(home):
        has_failed |= not result.is_ok
        _print(console, result)
    return 1 if has_failed else 0


def _print(console: Console, result: CheckResult) -> None:
    for line in lines_of(result):
        console.print(line, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
