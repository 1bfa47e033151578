# SPDX-License-Identifier: Apache-2.0
"""The role of a user's script: it runs in this very process, as if python had been called with it."""

from __future__ import annotations

import os
import runpy
import shlex
import sys
import traceback
from pathlib import Path
from uuid import uuid4

from mlhub.runtime.data import archives
from mlhub.runtime.errors import ExitStatusError
from mlhub.runtime.optional import COMPAT, HorovodFinder, find_loaded, find_optional
from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.script_steps import ScriptRecorder
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.roles.outcome import exit_code_of
from mlhub.runtime.scripts import api, framework_env, gang_formation, outputs, weights
from mlhub.runtime.scripts.arguments import command_line, epochs_of, without_option
from mlhub.runtime.scripts.dataset_folders import show_datasets
from mlhub.runtime.scripts.ending import end_like_python
from mlhub.runtime.scripts.lines.epochs import announce_epochs
from mlhub.runtime.scripts.modules import module_name
from mlhub.runtime.scripts.working_checkpoints import put_back
from mlhub.runtime.usage.network import recorded
from mlhub.wire.exits import ExitCode


def run_script(pod: Pod, reporter: Reporter) -> int:
    """Runs the script and returns the exit code of the pod."""

    def run() -> int:
        is_done = False
        brought = _unpack(pod)
        profiler = ScriptRecorder(pod)
        try:
            with recorded(pod.traffic):
                profiler.start()
                status = _run(pod)
                profiler.close()
            horovod = find_loaded(COMPAT, "horovod")
            tables = (find_optional if pod.spec.n_servers else find_loaded)(COMPAT, "tables")
            if horovod is not None:
                horovod.leave()
            if tables is not None:
                tables.leave(pod)
            is_done = True
        finally:
            end_like_python(waits=is_done)
        if status == ExitCode.DONE and pod.is_reporter:
            _hand_in(pod, brought=brought)
        return status

    return exit_code_of(run, reporter, code=pod.code)


def _run(pod: Pod) -> int:
    """The script's SystemExit is the pod's answer. Raises ExitStatusError for a status that is neither 0 nor 75."""
    api.watch_for_preemption()
    has_accelerator = gang_formation.has_accelerator(os.environ)
    found = framework_env.variables(pod.spec, has_accelerator=has_accelerator)
    os.environ.update({name: value for name, value in found.items() if name not in pod.spec.variables})
    os.environ.update(show_datasets(pod))
    if not has_accelerator:
        gang_formation.use_gloo_for_nccl(pod.code)
    sys.meta_path.append(HorovodFinder())
    os.chdir(pod.code)
    entry = _entry(pod)
    script = (pod.code / entry).resolve()
    _search_like_python(script, root=pod.code.resolve())
    sys.argv = [entry, *command_line(script, api.hyperparameters(), variables=os.environ)]
    if len(sys.argv) > 1:
        print("$ python", shlex.join(sys.argv), flush=True)
    if (epochs := epochs_of(script, sys.argv[1:])) is not None:
        announce_epochs(pod.work, epochs)
    if unread := without_option(script, pod.spec.training.hyperparameters):
        names = ", ".join(unread)
        print(f"mlhub: {entry} has no option for {names}, so only code that asks MLHub for it reads it", flush=True)
    try:
        if (module := module_name(script, root=pod.code.resolve())) is not None:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            # an absolute path: processes that are spawned run the script again, from whatever folder they are in
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code in (None, 0):
            return ExitCode.DONE
        if end.code == ExitCode.PREEMPTED:
            return ExitCode.PREEMPTED
        raise ExitStatusError(ending_of(end)) from end
    return ExitCode.DONE


def ending_of(end: SystemExit) -> str:
    """What a person reads of a script that ended itself: what it said, or what argparse or click said for it."""
    if isinstance(end.code, str):  # sys.exit("no data")
        return f"The script ended: {end.code}"
    if (complaint := _complaint_of_parser(end)) is not None:
        return f"The script refused its command line, which is in the log: {complaint}."
    return f"The script ended with status {end.code}."


def _complaint_of_parser(end: SystemExit) -> str | None:
    said = getattr(end.__context__, "format_message", None)  # click
    if said is not None:
        return str(said()).rstrip(".")
    for frame, _ in traceback.walk_tb(end.__traceback__):
        if frame.f_code.co_name == "error" and frame.f_globals.get("__name__") == "argparse":
            return str(frame.f_locals.get("message")).rstrip(".")
    return None


def _unpack(pod: Pod) -> set[Path]:
    """Unpacks the package, and returns its files: what else is there in the end, the script wrote."""
    assert pod.spec.model.package is not None
    names = archives.extract(pod.input(pod.spec.model.package), pod.code)
    if top := archives.repository_folder(names, pod.spec.model.entry):
        _move_up(pod.code / top)
    elif top := archives.only_folder(names, pod.spec.model.entry):
        _show_at_top(pod.code / top)
    brought = outputs.open_output(pod)
    put_back(pod.code, pod.checkpoints)
    return brought


def _move_up(folder: Path) -> None:
    """What is in the one folder of a repository's archive is the working folder."""
    aside = folder.with_name(f".{uuid4().hex}")  # it may hold something of its own name
    folder.rename(aside)
    for path in aside.iterdir():
        path.rename(folder.parent / path.name)
    aside.rmdir()


def _show_at_top(folder: Path) -> None:
    """Of an archive with the folder `src` alone the top is the working folder, since code imports `src.model` and names
    the folder above its own. What is no module is found there, too: who ran `train.py` in `src` reads `config/x.yaml`.
    """
    for path in folder.iterdir():
        at_top = folder.parent / path.name
        if path.suffix != ".py" and path.name != outputs.LINK and not at_top.exists():
            at_top.symlink_to(path, target_is_directory=path.is_dir())


def _entry(pod: Pod) -> str:
    """The path of the script in the working folder."""
    entry = pod.spec.model.entry
    return entry if (pod.code / entry).exists() else entry.partition("/")[2]


def _hand_in(pod: Pod, *, brought: set[Path]) -> None:
    """Lists what the script left, for the launcher to send, and its weights, unless it called finish()."""
    if not _ends_a_line(pod.output):
        print(flush=True)  # else the lines from here on would continue the script's last one
    if (warning := gang_formation.warning_of(pod.spec.n_workers, n_servers=pod.spec.n_servers)) is not None:
        print(warning, flush=True)
    files = outputs.found_outputs(pod, brought=brought)
    source = weights.keep_weights(pod, files, hyperparameters=api.hyperparameters())
    if source is not None:
        print(f"mlhub: the model's new version has the weights of {source}", flush=True)
        api.list_artifacts(pod)
    outputs.list_outputs(pod, files)


def _ends_a_line(path: Path) -> bool:
    if not path.exists() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _search_like_python(script: Path, *, root: Path) -> None:
    """Imports search the script's own folder first, as with plain python, and then the root of the package."""
    folders = [str(script.parent)] if script.parent == root else [str(script.parent), str(root)]
    sys.path[:0] = folders
