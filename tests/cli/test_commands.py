# SPDX-License-Identifier: Apache-2.0
"""The command line against the API: what it prints, how it ends, and what it lets a script rely on."""

from __future__ import annotations

import io
import json
import warnings
from datetime import timedelta
from getpass import GetPassWarning
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.embedded.ports import free_port
from mlhub.environments.secrets import secret_values
from mlhub.jobs.models import Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.tenants.actions import create_organisation, create_token
from mlhub.tenants.actions.sign_in.second_factor import renew_recovery_codes
from mlhub.tenants.models import Membership, Project, SecondFactor, User
from mlhub.tenants.roles import Role
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset
from tests.jobs.submission.test_differences import NEW, OLD, code, with_code
from tests.registry.exported import table_of_flowers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the credentials nor the memory of uploads of whoever runs the tests."""
    for name in ("MLHUB_URL", "MLHUB_TOKEN", "MLHUB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def bob(cast: Cast, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """The command line speaks as bob, by environment variables."""
    _, token = create_token(cast.bob, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    return cast


def submitted(cast: Cast, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    dataset = ready_dataset(cast.project_a, cast.bob)
    argv = ["run", "--dataset", str(dataset.dataset_id), "--model", builtin().model.name, "--detach", *options]
    assert main(argv) == CommandStatus.OK, capsys.readouterr().err
    return capsys.readouterr().out.strip()


def test_a_forgotten_password_is_asked_for_without_a_sign_in(
    cast: Cast, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--url", live_server.url, "forgot-password", "bob"]) == CommandStatus.REFUSED
    assert "sends no e-mail" in (refused := capsys.readouterr().err)
    assert "administrator" in refused


def test_a_job_is_submitted_listed_explained_and_cancelled(bob: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    pk = submitted(bob, capsys, "--name", "first", "--epochs", "3", "--set", "hyperparameters.learning_rate=0.01")
    assert main(["ps"]) == CommandStatus.OK
    table = capsys.readouterr().out.splitlines()
    assert table[0].split()[:3] == ["ID", "NAME", "STATE"]
    assert table[1].split()[:3] == [pk[-8:], "first", "queued"]
    assert main(["-o", "json", "show", "first"]) == CommandStatus.OK
    shown = json.loads(capsys.readouterr().out)
    assert (shown["id"], shown["epochs"], shown["hyperparameters"]["learning_rate"]) == (pk, 3, 0.01)
    finish_at = timezone.now() + timedelta(minutes=30, seconds=10)
    Job.objects.update(predicted_finish_at=finish_at, predicted_finish_p90_at=finish_at + timedelta(seconds=5))
    assert main(["why", pk[-8:]]) == CommandStatus.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0]
    assert f"  - {lines[0]}" not in lines  # its only reason is said once
    assert "Predicted finish: in 30 min." in lines
    Job.objects.update(predicted_finish_p90_at=finish_at + timedelta(minutes=10))
    assert main(["why", pk[-8:]]) == CommandStatus.OK
    assert "Predicted finish: in 30 min; P90: in 40 min." in capsys.readouterr().out
    assert main(["clone", "first", "--name", "second", "--set", "epochs=4"]) == CommandStatus.OK
    cloned = Job.objects.get(pk=capsys.readouterr().out.strip())
    assert (cloned.name, cloned.epochs) == ("second", 4)
    assert main(["cancel", "second"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["startup", "first"]) == CommandStatus.OK
    started = capsys.readouterr().out.splitlines()
    assert started[0].split() == ["PHASE", "SECONDS", "SHARE"]
    assert started[1].split()[0] == "request"
    assert started[-1].startswith("So far: ")
    assert main(["startup", "first", "--attempt", "1"]) == CommandStatus.REFUSED
    assert "has no attempt 1" in capsys.readouterr().err
    assert main(["cancel", "first"]) == CommandStatus.OK
    assert "cancelled" in capsys.readouterr().out
    assert main(["ps"]) == CommandStatus.OK
    listed = capsys.readouterr()
    assert len(listed.out.splitlines()) == 1  # the headings
    assert "mlhub ps --all" in listed.err
    assert main(["ps", "--all"]) == CommandStatus.OK
    _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2
    assert all(row.endswith("The job was cancelled.") for row in rows)
    assert main(["wait", "first"]) == CommandStatus.JOB_FAILED


def test_a_job_as_a_file_submits_the_same_job_again(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = ("--set", "priority=-5", "--set", "resources={memory_gib: 2}", "--set", "strategy.name=bsp")
    pk = submitted(bob, capsys, "--name", "first", "--epochs", "3", "--set", "seed=7", *settings)
    assert main(["show", pk, "--as-file"]) == CommandStatus.OK
    file = tmp_path / "job.yaml"
    file.write_text(capsys.readouterr().out)
    assert main(["run", str(file), "--detach"]) == CommandStatus.OK
    again = capsys.readouterr().out.strip()
    assert again != pk
    assert main(["show", again, "--as-file"]) == CommandStatus.OK
    assert yaml.safe_load(capsys.readouterr().out) == yaml.safe_load(file.read_text())


def test_a_prediction_and_a_notebook_as_files_are_submitted_again(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    version, _ = table_of_flowers(tmp_path).registered(bob)
    dataset = {"dataset_version": str(version.dataset_version_id), "model_version": str(version.pk)}
    asked = {"kind": "predict", **dataset, "output": "npz", "features": ["0"], "examples": "held_out"}
    notebook = {"kind": "notebook", "resources": {"memory_gib": 2.0}, "limits": {"idle_s": 120.0}}
    for wanted in (asked, notebook):
        file = tmp_path / "job.yaml"
        file.write_text(yaml.safe_dump(wanted))
        written = []
        for _ in range(2):
            assert main(["run", str(file), "--detach"]) == CommandStatus.OK, capsys.readouterr().err
            assert main(["show", capsys.readouterr().out.strip(), "--as-file"]) == CommandStatus.OK
            written.append(capsys.readouterr().out)
            file.write_text(written[-1])
        assert written[0] == written[1]
        assert yaml.safe_load(written[0]).items() >= wanted.items()


def test_the_settings_and_the_code_that_differ_between_two_jobs_are_printed(
    bob: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    with_code(job(bob.project_a, bob.bob, name="first", hyperparameters={"lr": 0.1}), code(bob, OLD))
    with_code(job(bob.project_a, bob.bob, name="second", hyperparameters={"lr": 0.5}), code(bob, NEW))
    assert main(["diff", "first", "second"]) == CommandStatus.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:3:2]] == [
        ["SETTING", "BEFORE", "AFTER"],
        ["hyperparameters.lr", "0.1", "0.5"],
    ]
    assert lines[lines.index("model.py (changed)") :][2:5] == [" import torch", "-WIDTH = 8", "+WIDTH = 16"]
    assert main(["diff", "first", "first"]) == CommandStatus.OK
    assert capsys.readouterr().out == "Nothing differs.\n"


def test_options_of_the_command_come_before_the_file(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dataset = ready_dataset(bob.project_a, bob.bob)
    file = tmp_path / "job.yaml"
    file.write_text(f"dataset: {dataset.dataset_id}\nmodel: {builtin().model.name}\nepochs: 3\nname: from the file\n")
    assert main(["-o", "json", "run", str(file), "--epochs", "9", "--detach"]) == CommandStatus.OK
    made = json.loads(capsys.readouterr().out)
    assert (made["name"], made["epochs"]) == ("from the file", 9)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("epochz: 3", "Did you mean `epochs`?"),
        ("[1, 2", "is no YAML"),
        ("- a list", "must be a mapping"),
        ("model: 3", "`model` must be text"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_remedy(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(content)
    assert main(["run", str(file)]) == CommandStatus.USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["why", "nothing"], CommandStatus.REFUSED, "There is no job nothing"),
        (["run", "--model", "mlp"], CommandStatus.USAGE, "On which data?"),
        (["run", "absent.py", "--data", "absent.csv"], CommandStatus.USAGE, "There is no file or folder absent.py"),
        (["node", "cordon", "n99"], CommandStatus.USAGE, "There is no node n99"),
        (["ps", "--state", "flying"], CommandStatus.REFUSED, "flying"),
        (["pz"], CommandStatus.USAGE, "No such command"),
        (["--project", "other", "dataset", "ls"], CommandStatus.REFUSED, "There is no project other"),
    ],
)
def test_what_cannot_be_done_ends_with_a_code_and_names_the_reason(
    bob: Cast, capsys: pytest.CaptureFixture[str], argv: list[str], code: CommandStatus, message: str
) -> None:
    builtin()
    assert main(argv) == code
    assert message in " ".join(capsys.readouterr().err.split())


def test_who_has_no_project_makes_one(
    cast: Cast, live_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person = User.objects.create(username="new")
    _, token = create_token(person, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)

    def error_of(*argv: str, status: CommandStatus = CommandStatus.USAGE) -> str:
        assert main(list(argv)) == status
        return capsys.readouterr().err

    assert "You are in no organisation." in error_of("project", "create", "first")
    Membership.objects.create(user=person, organisation=create_organisation("mine", actor=person), role=Role.OWNER)
    assert "`mlhub project create NAME` makes one" in error_of("dataset", "push", __file__)
    other = error_of("project", "create", "first", "--organisation", "other", status=CommandStatus.REFUSED)
    assert "there are: mine" in other
    assert main(["project", "create", "first"]) == CommandStatus.OK
    assert main(["project", "ls"]) == CommandStatus.OK
    assert "first" in capsys.readouterr().out.splitlines()[-1]


def test_of_several_projects_one_must_be_named(bob: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    Project.objects.create(organisation=bob.a, name="speech")
    dataset = ready_dataset(bob.project_a, bob.bob)
    argv = ["run", "--dataset", str(dataset.dataset_id), "--model", builtin().model.name, "--detach"]
    assert main(argv) == CommandStatus.USAGE
    assert "Give --project; there are: " in capsys.readouterr().err
    assert main(["--project", "vision", *argv]) == CommandStatus.OK


class Terminal(io.StringIO):
    """Standard input as a person types it."""

    def isatty(self) -> bool:
        return True


def test_a_password_and_a_secret_that_are_piped_are_read_as_lines_without_a_word_about_terminals(
    cast: Cast, live_server: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.bob.set_password("correct horse battery staple")
    cast.bob.save()
    login = ["login", live_server.url, "--username", "bob"]
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery staple\n"))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert main(login) == CommandStatus.OK
    assert [each for each in warned if issubclass(each.category, GetPassWarning)] == []
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("Signed in at "), "nothing is asked of a pipe"
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(login) == CommandStatus.USAGE
    assert "Pipe it in, as one line" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setattr("sys.stdin", io.StringIO("hf_0123456789\n"))
    assert main(["secret", "set", "HF_TOKEN"]) == CommandStatus.OK
    assert list(secret_values(cast.project_a.id, ["HF_TOKEN"]).values()) == ["hf_0123456789"]


def test_signing_in_keeps_a_token_that_only_the_owner_may_read(
    cast: Cast, live_server: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.bob.set_password("correct horse battery staple")
    cast.bob.save()
    answers = iter(["wrong", "correct horse battery staple"])
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: next(answers))
    monkeypatch.setattr("sys.stdin", Terminal())
    login = ["login", live_server.url, "--username", "bob"]
    assert main(login) == CommandStatus.NOT_SIGNED_IN
    assert main(["ps"]) == CommandStatus.NOT_SIGNED_IN
    assert main(login) == CommandStatus.OK
    kept = tmp_path / "config" / "mlhub" / "credentials.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert main(["-o", "json", "whoami"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)["username"] == "bob"
    assert main(["--url", f"http://127.0.0.1:{free_port()}", "ps"]) == CommandStatus.NOT_SIGNED_IN  # not sent elsewhere
    assert main(["logout"]) == CommandStatus.OK
    assert not kept.exists()
    assert main(["whoami"]) == CommandStatus.NOT_SIGNED_IN


def test_an_administrator_signs_in_with_a_second_factor_for_what_administrators_do(
    cast: Cast, live_server: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.root.set_password("correct horse battery staple")
    cast.root.save()
    codes = renew_recovery_codes(cast.root)
    SecondFactor.objects.filter(user=cast.root).update(confirmed_at=timezone.now())
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: "correct horse battery staple")
    monkeypatch.setattr("sys.stdin", Terminal(f"000000\n{codes[0]}\n{codes[1]}\n"))
    login = ["login", live_server.url, "--username", cast.root.username]
    assert main([*login, "--admin"]) == CommandStatus.NOT_SIGNED_IN  # a wrong code
    assert main(login) == CommandStatus.OK
    assert main(["organisation", "create", "acme"]) == CommandStatus.REFUSED
    assert "mlhub login --admin" in capsys.readouterr().err
    assert main([*login, "--admin"]) == CommandStatus.OK
    assert main(["organisation", "create", "acme"]) == CommandStatus.OK, capsys.readouterr().err
    assert main([*login, "--admin", "--token", "mlh_x"]) == CommandStatus.USAGE


def test_who_is_no_administrator_gets_no_token_of_one(
    cast: Cast, live_server: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.bob.set_password("correct horse battery staple")
    cast.bob.save()
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: "correct horse battery staple")
    monkeypatch.setattr("sys.stdin", Terminal())
    assert main(["login", live_server.url, "--username", "bob", "--admin"]) == CommandStatus.REFUSED
    assert "administrator" in capsys.readouterr().err
    assert main(["whoami"]) == CommandStatus.NOT_SIGNED_IN


def test_a_platform_that_does_not_answer_has_its_own_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlhub.cli.session.PATIENCE_S", 0.0)
    address = f"http://127.0.0.1:{free_port()}"
    assert main(["--url", address, "--token", "mlh_x", "ps"]) == CommandStatus.UNREACHABLE
    assert address in capsys.readouterr().err


def test_lists_show_what_one_may_see(bob: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    ready_dataset(bob.project_b, bob.charlie)
    mine = ready_dataset(bob.project_a, bob.bob)
    assert main(["-o", "yaml", "dataset", "ls"]) == CommandStatus.OK
    assert [row["id"] for row in yaml.safe_load(capsys.readouterr().out)] == [str(mine.dataset_id)]
    assert main(["quota"]) == CommandStatus.OK
    assert main(["usage", "--by", "gpu_type", "--since", "2026-11-01T00:00:00Z"]) == CommandStatus.OK
    assert main(["usage", "--since", "yesterday"]) == CommandStatus.REFUSED
    assert "A" in capsys.readouterr().out
    assert main(["project", "ls"]) == CommandStatus.OK
    assert "vision" in capsys.readouterr().out
    assert main(["queue"]) == CommandStatus.OK
    assert main(["top"]) == CommandStatus.OK


def test_a_script_runs_without_data_and_its_file_names_none(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = Model.objects.create(project=bob.project_a, name="fetching", created_by=bob.bob)
    code = {"source": "upload", "kind": "script", "entry": "train.py", "state": "ready"}
    ModelVersion.objects.create(model=model, number=1, **code)
    assert main(["run", "--model", "fetching", "--name", "alone", "--detach"]) == CommandStatus.OK
    pk = capsys.readouterr().out.strip()
    assert main(["show", pk, "--as-file"]) == CommandStatus.OK
    written = yaml.safe_load(capsys.readouterr().out)
    assert not {"dataset", "dataset_version"} & set(written)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(written))
    assert main(["run", str(tmp_path / "job.yaml"), "--detach"]) == CommandStatus.OK
    package = tmp_path / "model.py"
    package.write_text("def build_model(hyperparameters): ...\n")
    assert main(["run", str(package)]) == CommandStatus.USAGE
    assert "On which data?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--lr", "0.1", "-o", "$MLHUB_OUTPUT_DIR"], ["config/small.py", "--from=https://a//b"], ["./x.py", "./y"]]
)
def test_what_follows_two_dashes_is_the_scripts_own(
    words: list[str], bob: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model.objects.create(project=bob.project_a, name="own-options", created_by=bob.bob)
    code = {"source": "upload", "kind": "script", "entry": "train.py", "state": "ready"}
    ModelVersion.objects.create(model=model, number=1, **code)
    assert main(["run", "--model", "own-options", "--detach", "--", *words]) == CommandStatus.OK
    pk = capsys.readouterr().out.strip()
    assert main(["show", pk, "-o", "json"]) == CommandStatus.OK
    shown = json.loads(capsys.readouterr().out)
    assert shown["hyperparameters"]["arguments"] == words
