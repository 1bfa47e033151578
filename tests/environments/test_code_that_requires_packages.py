# SPDX-License-Identifier: Apache-2.0
"""Code that brings requirements: its environment is built once and used, and a failed build says why."""

from __future__ import annotations

import io
import socket
import sys
import zipfile
from datetime import timedelta

import pytest
import uv

from mlhub.environments import actions, torch_builds
from mlhub.environments.build_folders import build_folder
from mlhub.environments.models import PythonEnvironment
from mlhub.environments.tasks import build_environment, sweep_unbuilt
from mlhub.registry import tasks
from mlhub.registry.models import ModelVersion
from mlhub.storage.actions import used_bytes
from mlhub.storage.inspection import Verdict
from mlhub.storage.models import WorkItem
from mlhub.storage.stores import blob_store
from mlhub.storage.tasks import work_on_next
from tests.cast import make_cast
from tests.datasets.files import zipped
from tests.environments.wheels import write_wheel
from tests.registry.packages import upload

CODE = b"""
import greeting
import torch

assert greeting.WORDS == "hello world", greeting.WORDS

def build_model(h):
    return torch.nn.Linear(1, 1)
"""


# without torch, which takes seconds of a processor to import: for tests of the environment alone
LIGHT = b"import greeting\ndef build_model(h): pass\n"


def uploaded(cast, files, *, name="m", client=None, **given):
    client = client or cast.client(cast.bob)
    project = given.pop("project", cast.project_a)
    answer = upload(client, project, name=name, content=zipped(files), **given)
    assert answer.status_code == 201, answer.json()
    return answer.json()["latest_version"]["id"]


def settled(version):
    """Works off validation and build, as the workers do."""
    tasks.validate_version(version)
    row = ModelVersion.objects.get(pk=version)
    if row.environment_id is not None and row.state == "inspecting":
        build_environment(str(row.environment_id))
        tasks.continue_with_environment(str(row.environment_id))
        tasks.validate_version(version)
    return ModelVersion.objects.select_related("environment__layer").get(pk=version)


@pytest.mark.parametrize("is_same", [False, True])
def test_a_library_for_another_build_of_torch_is_refused_before_a_job_imports_it(cast, wheelhouse, is_same):
    build = torch_builds.platform_torch().partition("+")[2] if is_same else "cu999"
    version = f"0.28.0+{build}" if build else "0.28.0"
    modules = {"torchvision/__init__.py": "", "torchvision/version.py": f"__version__ = '{version}'\n"}
    write_wheel(wheelhouse, "torchvision", "0.28.0", modules, requires=["torch"])
    code = b"import math\ndef build_model(h): pass\n"
    found = settled(uploaded(cast, {"model.py": code, "requirements.txt": b"torchvision"}))
    assert (found.state, (found.error or {}).get("code")) == (
        ("ready", None) if is_same else ("refused", "wrong_torch_build")
    )
    if not is_same:
        assert "torchvision 0.28.0+cu999 is compiled for another build of torch" in found.error["message"]
        assert "UV_TORCH_BACKEND" in found.error["remedy"]


@pytest.mark.parametrize(("version", "installed"), [("0.28.0", "Installed 1 package "), ("0.28.0+cu999", "")])
def test_it_is_refused_before_the_other_packages_are_downloaded(cast, wheelhouse, version, installed):
    """And before it is downloaded itself, where its version says for which build it is."""
    modules = {"torchvision/__init__.py": "", "torchvision/version.py": "__version__ = '0.28.0+cu999'\n"}
    write_wheel(wheelhouse, "torchvision", version, modules, requires=["torch", "wording"])
    files = {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"torchvision\ngreeting\n"}
    found = settled(uploaded(cast, files))
    assert (found.state, found.error["code"]) == ("refused", "wrong_torch_build")
    log = found.environment.log
    assert "Would install 3 packages" in log
    assert " + greeting==1.0" in log, "what was resolved is seen"
    assert "Using CPython" in log
    assert sys.prefix not in log, "where the platform is installed is its own affair"
    assert [line.partition(" in ")[0] + " " for line in log.splitlines() if "Installed" in line] == [installed] * bool(
        installed
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("requirements.txt", b"# what it needs\ngreeting >= 1.0  # with wording\n"),
        ("pyproject.toml", b'[project]\nname = "x"\nversion = "1"\ndependencies = ["greeting"]\n'),
    ],
)
def test_code_that_names_a_package_is_validated_with_that_package(cast, wheelhouse, filename, content):
    version = settled(uploaded(cast, {"model.py": CODE, filename: content}))
    assert (version.state, version.error) == ("ready", None)
    environment = version.environment
    assert (environment.state, environment.origin) == ("ready", filename)
    assert environment.packages == [{"name": "greeting", "version": "1.0"}, {"name": "wording", "version": "2.0"}]
    with blob_store().open(environment.layer_id) as file, zipfile.ZipFile(io.BytesIO(file.read())) as layer:
        folders = {name.partition("/")[0] for name in layer.namelist()}
    assert {"greeting.py", "wording.py"} <= folders
    assert not {name for name in folders if name.startswith(("torch", "numpy"))}, "the platform's own are not repeated"


@pytest.mark.slow
def test_the_versions_of_a_lock_are_installed_exactly(cast, wheelhouse):
    lock = b"""
version = 1
requires-python = ">=3.11"
[[package]]
name = "mine"
version = "0.1"
source = { virtual = "." }
dependencies = [{ name = "wording" }, { name = "clash", marker = "sys_platform == 'win32'" }]
[[package]]
name = "wording"
version = "1.0"
source = { registry = "https://index.example.org/simple" }
[[package]]
name = "clash"
version = "1.0"
source = { registry = "https://index.example.org/simple" }
"""
    code = b"import wording\nassert wording.WORD == 'old'\ndef build_model(h): pass\n"
    version = settled(uploaded(cast, {"model.py": code, "uv.lock": lock, "requirements.txt": b"clash"}))
    assert (version.state, version.error) == ("ready", None)
    assert version.environment.packages == [{"name": "wording", "version": "1.0"}]


@pytest.mark.slow
def test_a_package_of_the_platform_stays_unless_another_version_is_pinned(cast, wheelhouse):
    code = b"import numpy\nassert numpy.__version__ == '1.0'\n"
    files = {"train.py": code, "requirements.txt": b"numpy==1.0\n"}
    pinned = settled(uploaded(cast, files, kind="script", entry="train.py"))
    assert pinned.environment.packages == [{"name": "numpy", "version": "1.0"}]
    loose = settled(uploaded(cast, files | {"requirements.txt": b"numpy<2"}, name="n", kind="script", entry="train.py"))
    assert (loose.state, loose.error["code"]) == ("refused", "conflict")
    assert "numpy" in loose.error["message"]


@pytest.mark.slow
def test_requirements_that_the_platform_meets_need_no_layer(cast, wheelhouse):
    code = b"import torch\ndef build_model(h): return torch.nn.Linear(1, 1)\n"
    version = settled(uploaded(cast, {"model.py": code, "requirements.txt": b"torch\nnumpy>=1.26\n"}))
    assert (version.state, version.environment.state, version.environment.layer) == ("ready", "ready", None)


@pytest.mark.slow
def test_the_same_requirements_are_built_once_and_count_once_in_the_organisations_quota(cast, wheelhouse):
    first = settled(uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"greeting\n"}))
    before = used_bytes(cast.a)
    assert before >= first.environment.size_bytes > 0
    second = uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"# the same\nGreeting\n"}, name="n")
    tasks.validate_version(second)
    again = ModelVersion.objects.get(pk=second)
    assert (again.state, again.environment_id) == ("ready", first.environment_id)
    assert used_bytes(cast.a) - before == again.size_bytes
    assert PythonEnvironment.objects.count() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requirements", "code", "words"),
    [
        (b"nothing-of-that-name\n", "package_not_found", "nothing-of-that-name was not found"),
        (b"greeting==7\n", "package_not_found", "greeting==7"),
        (b"clash\n", "conflict", "clash"),
    ],
)
def test_a_build_that_fails_refuses_the_version_with_the_line_of_the_log(cast, wheelhouse, requirements, code, words):
    version = settled(uploaded(cast, {"model.py": CODE, "requirements.txt": requirements}))
    assert (version.state, version.error["code"]) == ("refused", code), version.error
    assert words in version.error["message"]
    assert version.environment.log.count(words.split()[0])
    assert (version.environment.state, version.environment.layer) == ("failed", None)
    assert not list((wheelhouse.parent / "environments" / "builds").iterdir()), "nothing half-built is left"


@pytest.mark.slow
def test_a_failed_environment_is_built_again_for_the_next_upload(cast, wheelhouse):
    files = {"model.py": LIGHT, "requirements.txt": b"greeting\n"}
    for wheel in list(wheelhouse.glob("greeting-*")):
        wheel.rename(wheelhouse.parent / wheel.name)
    assert settled(uploaded(cast, files)).state == "refused"
    for wheel in wheelhouse.parent.glob("greeting-*"):
        wheel.rename(wheelhouse / wheel.name)
    assert settled(uploaded(cast, files, name="n")).state == "ready"


@pytest.mark.parametrize(
    "line",
    [
        "--extra-index-url https://elsewhere.example.org", "x @ https://elsewhere.example.org/x.whl", "-e .",
        "git+https://elsewhere.example.org/x", "./local.whl", "a b c",
    ],
)  # fmt: skip
def test_what_is_no_package_of_the_index_is_refused_with_its_line(cast, wheelhouse, line):
    version = settled(uploaded(cast, {"model.py": CODE, "requirements.txt": f"greeting\n\n{line}\n".encode()}))
    assert (version.state, version.error["code"]) == ("refused", "invalid_requirements")
    assert version.error["message"].startswith("requirements.txt, line 3:")
    assert not PythonEnvironment.objects.exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"a==={'!' * 60}$$", "is no name with versions"),
        (f"a=={','.join(['1.0'] * 10)}", "is no name with versions"),
        (f"a=={'1' * 500}", "has 503 characters"),
    ],
)
def test_a_line_that_is_no_name_with_versions_refuses_the_version_at_once(cast, monkeypatch, line, words):
    """The regular expression that reads the line takes no time to speak of, whatever the line is."""
    found = Verdict(found={"requirements": [line], "origin": "requirements.txt"})
    monkeypatch.setattr(tasks, "_inspected", lambda _: found)
    tasks.validate_version(uploaded(cast, {"model.py": CODE, "requirements.txt": line.encode()}))
    version = ModelVersion.objects.get()
    assert (version.state, version.error["code"], version.error["field"]) == ("refused", "invalid_input", "file")
    assert words in version.error["message"]
    assert version.error["remedy"]


@pytest.mark.slow
def test_a_build_that_takes_too_long_or_too_much_ends_with_the_limit_that_it_passed(cast, wheelhouse, settings):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that takes connections and never answers
        settings.PACKAGE_INDEX_URL = f"http://bob:secret@127.0.0.1:{silent.getsockname()[1]}/simple"
        settings.WHEELHOUSE, settings.ENVIRONMENT_TIMEOUT_S = "", 1.0
        late = settled(uploaded(cast, {"model.py": CODE, "requirements.txt": b"greeting\n"}))
    assert late.error["code"] == "too_slow"
    assert "MLHUB_ENVIRONMENT_TIMEOUT_S" in late.error["remedy"]
    settings.PACKAGE_INDEX_URL, settings.WHEELHOUSE = "", str(wheelhouse)
    settings.ENVIRONMENT_TIMEOUT_S, settings.MAX_ENVIRONMENT_BYTES = 900.0, 1000
    large = settled(uploaded(cast, {"model.py": CODE, "requirements.txt": b"greeting\n"}, name="n"))
    assert large.error["code"] in ("too_large", "package_too_large")
    assert "MLHUB_MAX_ENVIRONMENT_BYTES" in large.error["remedy"]


@pytest.mark.slow
def test_a_build_waits_in_the_queue_while_as_many_are_under_way_as_there_may_be(cast, wheelhouse, settings):
    """So that builds which take long leave processes of the worker to uploads and jobs."""
    tasks.validate_version(uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"greeting\n"}))
    WorkItem.objects.exclude(task=actions.BUILD).delete()
    settings.BUILDS_AT_ONCE = 0
    work_on_next()
    item = WorkItem.objects.get()
    assert (item.started_at, item.n_failures, PythonEnvironment.objects.get().n_builds) == (None, 0, 0)
    assert item.not_before is not None
    WorkItem.objects.update(not_before=None)
    settings.BUILDS_AT_ONCE = 1
    work_on_next()
    assert PythonEnvironment.objects.get().state == "ready"


@pytest.mark.slow
def test_what_killed_builds_left_is_removed_and_what_is_being_built_is_not(cast, wheelhouse, settings):
    builds = settings.ENVIRONMENT_ROOT / "builds"
    (builds / "killed" / "layer").mkdir(parents=True)
    (builds / "killed" / "layer" / "half").write_bytes(b"x" * 1000)
    with build_folder(builds) as other:
        (builds / "killed").mkdir()
        assert settled(uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"greeting\n"})).state == "ready"
        assert list(builds.iterdir()) == [other]
    assert list(builds.iterdir()) == []


@pytest.mark.slow
def test_the_installers_cache_does_not_grow_without_end(cast, wheelhouse, settings):
    cache = settings.ENVIRONMENT_ROOT / "cache"
    cache.mkdir(parents=True)
    with (cache / "old").open("wb") as file:
        file.truncate(settings.MAX_ENVIRONMENT_BYTES + 1)  # a sparse file
    assert settled(uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"greeting\n"})).state == "ready"
    assert not (cache / "old").exists()


@pytest.mark.slow
def test_a_build_without_room_says_so_without_paths_of_the_machine_and_empties_the_cache(
    cast, wheelhouse, settings, monkeypatch
):
    full = wheelhouse / "uv"  # an installer that fills the disk, as uv says it
    full.write_text(
        f"""#!/bin/sh
[ "$1" = cache ] && exec {uv.find_uv_bin()} "$@"
mkdir "$UV_CACHE_DIR/.tmpX" && echo half > "$UV_CACHE_DIR/.tmpX/half"
echo "error: failed to write to file \\`$UV_CACHE_DIR/.tmpX/half\\`: No space left on device (os error 28)"
exit 2
"""
    )
    full.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv_bin", lambda: str(full))
    version = settled(uploaded(cast, {"model.py": LIGHT, "requirements.txt": b"greeting\n"}))
    assert version.error["code"] == "out_of_disk"
    assert "`.tmpX/half`: No space left" in version.error["message"]
    assert str(settings.ENVIRONMENT_ROOT) not in version.environment.log + version.error["message"]
    assert list((settings.ENVIRONMENT_ROOT / "cache").glob("**/half")) == []


@pytest.mark.slow
def test_an_index_that_cannot_be_reached_is_named_without_its_password(cast, wheelhouse, settings, monkeypatch):
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings.PACKAGE_INDEX_URL, settings.WHEELHOUSE = f"http://bob:secret@127.0.0.1:{port}/simple", ""
    version = settled(uploaded(cast, {"model.py": CODE, "requirements.txt": b"greeting\n"}))
    assert version.error["code"] == "index_unreachable"
    assert f"127.0.0.1:{port}" in version.error["message"]
    assert "secret" not in version.environment.log + version.error["message"]


@pytest.mark.slow
def test_a_layer_over_the_quota_fails_and_stores_nothing(wheelhouse, db):
    cast = make_cast(max_storage_bytes=900)
    version = settled(uploaded(cast, {"model.py": CODE, "requirements.txt": b"greeting\n"}))
    assert (version.state, version.error["code"]) == ("refused", "quota_exceeded")


@pytest.mark.slow
def test_a_build_whose_message_was_lost_is_queued_again(cast, wheelhouse):
    version = uploaded(cast, {"model.py": CODE, "requirements.txt": b"greeting\n"})
    tasks.validate_version(version)
    environment = ModelVersion.objects.get(pk=version).environment
    PythonEnvironment.objects.update(created_at=environment.created_at - timedelta(minutes=2))
    WorkItem.objects.filter(task=actions.BUILD).delete()
    assert sweep_unbuilt() == 1
    assert sweep_unbuilt() == 0
    assert tasks.sweep_unvalidated() == 0, "what waits for its environment is not validated meanwhile"
