# SPDX-License-Identifier: Apache-2.0
"""Scripts that train by themselves, in real trainer processes: report, leave when asked, go on, hand in."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import torch

from mlhub.runtime import checkpoint, latest_checkpoint
from mlhub.runtime.data.archives import repository_folder
from mlhub.runtime.scripts import api
from mlhub.runtime.scripts.outputs import LISTED
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = pytest.mark.dist

COUNTING = """
import os, sys, time
from pathlib import Path
from mlhub.runtime import checkpoint_folder, dataset_path, finish, hyperparameters, report, should_preempt

given = hyperparameters()
assert dataset_path().exists()
place = checkpoint_folder() / "step"
start = int(place.read_text()) if place.exists() else 0
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "from", start, flush=True)
for step in range(start, given["n_steps"]):
    report(step + 1, total_steps=given["n_steps"], loss=1.0 / (step + 1), step_s=0.01)
    time.sleep(0.01)
    if should_preempt():
        aside = place.with_suffix(".new")
        aside.write_text(str(step + 1))
        aside.rename(place)
        sys.exit(75)
Path("w.safetensors").write_bytes(b"weights")
finish(step=given["n_steps"], metrics={"eval/accuracy": 0.5}, weights="w.safetensors")
"""

GATHERING = """
import argparse, os
given = argparse.ArgumentParser()
given.add_argument("--scale", type=float, default=1.0)
scale = given.parse_args().scale
import torch.distributed as dist, torch
dist.init_process_group("gloo")
value = torch.tensor([float(os.environ["RANK"]) + 1])
dist.all_reduce(value)
from mlhub.runtime import report
report(1, loss=scale * float(value))
dist.destroy_process_group()
"""


def gang(folder: Path, code: str, **hyperparameters: object) -> Gang:
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("train.py", code)
    return Gang(
        folder,
        write_blobs(folder / "blobs.npz"),
        model=ModelSpec(kind="script", entry="train.py", package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(epochs=1, batch_size=8, hyperparameters=hyperparameters),
    )


READING = """
import os
from pathlib import Path
from mlhub.runtime import report

words = (Path(os.environ["MLHUB_DATASET_WORDS"]) / "words.txt").read_text().split()
assert sorted(os.listdir(os.environ["MLHUB_DATASETS"])) == ["numbers", "words"]
numbers = (Path(os.environ["MLHUB_DATASETS"]) / "numbers" / "words.txt").read_text().split()
report(1, words=len(words), total=sum(map(int, numbers)))
"""


@pytest.mark.slow
def test_a_script_finds_further_datasets_as_folders_by_their_names(tmp_path: Path) -> None:
    found = gang(tmp_path, READING)
    for name, text in (("words", "to be or not"), ("numbers", "1 2 3")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "words.txt").write_text(text)
        found.further[name] = tmp_path / name / "words.txt"
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    (values,) = [report["values"] for report in found.reports("metrics")]
    assert (values["train/words"], values["train/total"]) == (4, 6)


def test_a_script_reports_and_hands_in_its_result(tmp_path: Path) -> None:
    found = gang(tmp_path, COUNTING, n_steps=5)
    found.start()
    assert found.wait() == {"worker-0": ExitCode.DONE}, found.logs()
    assert [r["values"]["train/loss"] for r in found.reports("metrics")] == [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    assert found.reports("progress")[-1]["steps_done"] == 5
    assert found.result()["metrics"] == {"eval/accuracy": 0.5}
    artifacts = found.work() / "artifacts"
    assert (artifacts / "weights.safetensors").read_bytes() == b"weights"
    assert set(json.loads((artifacts / "artifacts.json").read_text())) == {"weights.safetensors", "metadata.json"}


@pytest.mark.slow
def test_a_script_that_is_asked_to_leave_goes_on_where_it_was(tmp_path: Path) -> None:
    found = gang(tmp_path, COUNTING, n_steps=10_000)
    found.start()
    found.wait_for_step(3)
    found.terminate()
    assert found.wait() == {"worker-0": ExitCode.PREEMPTED}, found.logs()
    done = found.reports("progress")[-1]["steps_done"]
    found.training = TrainingSpec(epochs=1, batch_size=8, hyperparameters={"n_steps": done + 2})
    found.start()
    assert found.wait() == {"worker-0": ExitCode.DONE}, found.logs()
    assert f"from {done}" in found.logs()
    assert [r["steps_done"] for r in found.reports("progress")] == [done + 1, done + 2]


@pytest.mark.slow
def test_ranks_of_a_script_find_each_other_their_options_are_set_and_only_the_first_is_heard(tmp_path: Path) -> None:
    found = gang(tmp_path, GATHERING, scale=2.0)
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert found.reports("metrics")[0]["values"] == {"train/loss": 6.0}
    assert found.reports("metrics", "worker-1") == []


FOREIGN = """
import json, os
from mlhub.runtime import report
cluster = json.loads(os.environ["TF_CONFIG"])
assert cluster["task"] == {"type": "worker", "index": int(os.environ["RANK"])}, cluster
assert os.environ["DMLC_PS_ROOT_URI"] == os.environ["MASTER_ADDR"]
import torch.distributed as dist
assert dist.is_torchelastic_launched() and os.environ["LOCAL_WORLD_SIZE"] == "1"
assert os.environ["GROUP_RANK"] == os.environ["RANK"] and os.environ["GROUP_WORLD_SIZE"] == os.environ["WORLD_SIZE"]
report(1, n_listed=len(cluster["cluster"]["worker"]), n_given=int(os.environ["DMLC_NUM_WORKER"]))
"""


def test_scripts_of_other_frameworks_find_their_own_variables(tmp_path: Path) -> None:
    found = gang(tmp_path, FOREIGN)
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert found.reports("metrics")[0]["values"] == {"train/n_listed": 2.0, "train/n_given": 2.0}


OF_A_REPOSITORY = """
exec(open("configurator.py").read())
from model import WIDTH
import os
print("read", setting, WIDTH, sorted(set(os.listdir()) - {"__pycache__"}))
os.makedirs("out", exist_ok=True)
open("out/notes.txt", "w").write("done")
"""


def test_the_one_folder_of_a_repository_s_archive_is_the_working_folder(tmp_path: Path) -> None:
    found = gang(tmp_path, "")
    files = {"configurator.py": "setting = 3", "model.py": "WIDTH = 8", "train.py": OF_A_REPOSITORY}
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"nano-gpt-main/{name}", content)
        archive.writestr("nano-gpt-main/nano-gpt-main", "a file of the folder's own name")
    found.model = ModelSpec(kind="script", entry="nano-gpt-main/train.py", package="code")
    found.start()
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert "read 3 8 ['configurator.py', 'model.py', 'nano-gpt-main'" in found.logs()
    assert "out/notes.txt" in (found.work() / "outputs.json").read_text()


OF_SRC = """
import os, pathlib, sys
from src.model import WIDTH
import model
here = [open(path).read() for path in ("config/small.yaml", "src/config/small.yaml", "words.txt")]
root = pathlib.Path(__file__).resolve().parents[1]
print("read", WIDTH, here, (root / "src" / "words.txt").read_text(), os.path.samefile(root, "."))
open("config/new.yaml", "w").write("new")
open("notes.txt", "w").write("done")
"""


def test_of_an_archive_with_src_alone_files_are_found_from_the_top_and_from_src(tmp_path: Path) -> None:
    found = gang(tmp_path, "")
    files = {"config/small.yaml": "small", "words.txt": "words", "model.py": "WIDTH = 8", "train.py": OF_SRC}
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"src/{name}", content)
    found.model = ModelSpec(kind="script", entry="src/train.py", package="code")
    found.start()
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert "read 8 ['small', 'small', 'words'] words True" in found.logs()
    listed = {each["name"] for each in json.loads((found.work() / "outputs.json").read_text())}
    assert listed == {"output/notes.txt", "output/src/config/new.yaml"}


@pytest.mark.parametrize(
    ("names", "entry", "folder"),
    [
        (["gpt-main/train.py", "gpt-main/model.py"], "gpt-main/train.py", "gpt-main/"),
        (["gpt-main/train.py", "LICENSE"], "gpt-main/train.py", ""),
        (["src/train.py", "src/model.py"], "src/train.py", ""),  # which code may import by its name
        (["train.py"], "train.py", ""),
    ],
)
def test_which_folder_is_that_of_a_repository(names: list[str], entry: str, folder: str) -> None:
    assert repository_folder(names, entry) == folder


NAMES_NCCL = """
import torch
import torch.distributed as dist
from torch.distributed import init_process_group
init_process_group(backend="nccl")
pair = dist.new_group(range(2), None, "nccl")
total = torch.ones(1)
dist.all_reduce(total, group=pair)
print("backends", dist.get_backend(), dist.get_backend(pair), "total", int(total))
"""


def test_a_script_that_names_nccl_trains_on_processors_with_gloo(tmp_path: Path) -> None:
    found = gang(tmp_path, NAMES_NCCL)
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert "backends gloo gloo total 2" in found.logs()
    assert "mlhub: this pod has no GPU, so its process group has the backend gloo in place of nccl" in found.logs()


def test_workers_that_trained_each_for_itself_are_reported_in_the_log(tmp_path: Path) -> None:
    found = gang(tmp_path, "import os, torch\nprint(os.environ['ACCELERATE_USE_CPU'])")
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    assert "WARNING: this script ran on 2 workers" in found.logs()


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("raise ValueError('no such column')", "train.py, line 1: ValueError: no such column"),
        ("open('data/train.csv')", "'data/train.csv'. The job's data is in the folder $MLHUB_DATA_DIR"),
        ("import sys; sys.exit(3)", "status 3"),
        ("import sys; sys.exit('Give --data.')", "The script ended: Give --data."),
        (
            "import argparse; argparse.ArgumentParser().parse_args(['--learning_rate', '3'])",
            "refused its command line, which is in the log: unrecognized arguments: --learning_rate 3.",
        ),
        ("def broken(:", "SyntaxError"),
        ("import nothing_of_that_name", "nothing_of_that_name"),
    ],
)
def test_a_script_that_fails_says_why(tmp_path: Path, code: str, complaint: str) -> None:
    found = gang(tmp_path, code)
    found.start()
    assert found.wait() == {"worker-0": ExitCode.USER_CODE}, found.logs()
    (failure,) = found.reports("failure")
    assert complaint in failure["message"]
    assert failure["cause"] == "user_code"
    assert "mlhub/runtime" not in failure["traceback"] + found.logs()
    assert ("Traceback" in found.logs()) == (", line 1: " in failure["message"])  # else nothing called anything


OVERWRITTEN = """
import os, time
from pathlib import Path
import torch
for folder, epoch in ((Path(os.environ["MLHUB_OUTPUT_DIR"]), 1), (Path.cwd(), 2)):  # MLHub's copy, and the script's own
    path = folder / "checkpoints" / "last.pth"
    path.parent.mkdir()
    torch.save({"weight": torch.full((2,), float(epoch))}, path)
    os.utime(path, (epoch, epoch))
"""


def test_a_checkpoint_that_was_written_again_since_it_was_copied_is_handed_in_as_it_is_now(tmp_path: Path) -> None:
    found = gang(tmp_path, OVERWRITTEN)
    found.start()
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    (listed,) = json.loads((found.work("worker-0") / LISTED).read_text())
    assert listed["name"] == "output/checkpoints/last.pth"
    assert torch.load(listed["path"])["weight"].tolist() == [2.0, 2.0]


VERBS = """
import sys, time
import torch.distributed as dist
from mlhub.runtime import checkpoint, examples, job, latest_checkpoint, report, report_validation, should_preempt

dist.init_process_group("gloo")
me = job()
found = examples()
inputs, targets = found.batch(found.train[:8])
assert inputs.shape == (8, 6) and found.facts["n_classes"] == 3 and len(found.held_out) == 12
kept = latest_checkpoint()
start = 0 if kept is None else kept.step
if kept is not None:
    assert me.attempt_number == 2 and (kept.folder / "weights").read_text() == str(start), kept
    assert kept.about == {"by": "rank 0 of 2"}
    report_validation(start, accuracy=0.5)
    print("goes on on", me.n_workers, flush=True)
    sys.exit()
for step in range(1, 10_000):
    report(step, total_steps=10_000, loss=1.0)
    if should_preempt(together=True):
        if me.rank == 0:
            with checkpoint(step, by=f"rank 0 of {me.n_workers}") as folder:
                (folder / "weights").write_text(str(step))
        dist.barrier()
        sys.exit(75)
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_report_checkpoint_preempt_facts_and_examples_are_there_for_a_script(tmp_path: Path) -> None:
    found = gang(tmp_path, VERBS)
    found.start(n_workers=2)
    found.wait_for_step(3)
    found.processes["worker-1"].terminate()  # one is asked first; both leave after the same step
    assert set(found.wait().values()) == {ExitCode.PREEMPTED}, found.logs()
    found.start(n_workers=1)
    assert found.wait() == {"worker-0": ExitCode.DONE}, found.logs()
    assert "goes on on 1" in found.logs()
    assert found.reports("metrics")[0]["values"] == {"eval/accuracy": 0.5}


def test_a_checkpoint_is_there_whole_or_not_at_all_and_old_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert latest_checkpoint() is None
    for step in (1, 2, 30):
        with checkpoint(step, keep=2, loss=1 / step) as folder:
            (folder / "part").write_text("x" * step)

    def breaks_off() -> None:
        with checkpoint(40) as folder:
            (folder / "part").write_text("half")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        breaks_off()
    found = latest_checkpoint()
    assert found is not None
    assert (found.step, found.about) == (30, {"loss": 1 / 30})
    assert (found.folder / "part").read_text() == "x" * 30
    assert sorted(p.name for p in found.folder.parent.iterdir()) == ["step-000000000002", "step-000000000030"]
    with pytest.raises(ValueError, match="keep at least 1"), checkpoint(1, keep=0):
        pass


def test_outside_a_pod_a_script_runs_as_it_is() -> None:
    assert api.hyperparameters() == {}
    assert api.dataset_path() is None
    assert api.checkpoint_folder() is None
    assert not api.should_preempt()
    assert not api.should_preempt(together=True)
    assert (api.job().rank, api.job().n_workers) == (0, 1)
    assert api.examples() is None
    api.report_validation(1, accuracy=0.5)
    api.report(1, total_steps=3, loss=0.5)
    api.finish(step=1, metrics={}, weights="nowhere")
