# SPDX-License-Identifier: Apache-2.0
"""Builds are enclosed: the installer reaches the package index alone, and code that a source brings reaches nothing."""

from __future__ import annotations

import io
import json
import os
import socket
import threading
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlhub.environments import installer
from mlhub.environments.models import PythonEnvironment
from mlhub.runtime.sandbox import isolation as isolations
from mlhub.runtime.sandbox.capabilities import isolation
from mlhub.storage.models import Holding
from mlhub.storage.stores import blob_store
from tests.authorities import site_authority
from tests.environments.indexes import served, write_index, write_source
from tests.environments.test_code_that_requires_packages import settled, uploaded
from tests.environments.wheels import write_wheel, write_wheelhouse
from tests.runtime.sandbox.test_egress import site_proxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not any(each.has_namespaces for each in isolations.candidates()) or not isolation().has_namespaces,
        reason="this machine has no namespaces",
    ),
]
SECRET = "a-secret-of-the-platform"


@pytest.fixture
def index(tmp_path: Path, settings):
    """An index of packages that bring their source alone, and its address."""
    root = tmp_path / "index"
    write_wheelhouse(root / "files")
    settings.ENVIRONMENT_ROOT, settings.WHEELHOUSE = tmp_path / "environments", ""
    settings.ENVIRONMENT_TIMEOUT_S = 40.0
    with served(root) as (address, asked):
        settings.PACKAGE_INDEX_URL = f"{address}/simple"
        yield root, address, asked


def built(cast, root: Path, attack: str = "pass", *, name: str = "hostile") -> PythonEnvironment:
    write_source(root / "files", name, "1.0", attack)
    write_index(root, root / "files")
    code = b"import math\ndef build_model(h): pass\n"
    version = settled(uploaded(cast, {"model.py": code, "requirements.txt": f"{name}\n".encode()}, name=name))
    assert version.environment is not None, version.error
    return version.environment


def found_by(environment: PythonEnvironment, name: str = "hostile") -> list[str]:
    assert environment.state == "ready", (environment.error, environment.log)
    with blob_store().open(environment.layer_id) as file, zipfile.ZipFile(io.BytesIO(file.read())) as layer:
        text = layer.read(f"{name}.py").decode()
    return list(eval(text.removeprefix("FOUND = ")))


def test_wheels_come_from_an_index_by_the_proxy_of_the_sandbox_alone(cast, index):
    root, _, asked = index
    write_index(root, root / "files")
    version = settled(
        uploaded(cast, {"model.py": b"import greeting\ndef build_model(h): pass\n", "requirements.txt": b"greeting\n"})
    )
    assert (version.state, version.error) == ("ready", None)
    assert "/simple/greeting/" in asked
    assert any(path.endswith(".whl") for path in asked)


def test_files_at_a_host_that_is_not_the_indexs_are_refused_with_the_setting_that_allows_it(cast, index, settings):
    root, _, _ = index
    with served(root) as (elsewhere, asked):
        write_index(root, root / "files", linked_at=f"{elsewhere}/files")
        code = {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"wording\n"}
        refused = settled(uploaded(cast, code))
        assert (refused.state, refused.error["code"]) == ("refused", "host_refused")
        assert elsewhere.removeprefix("http://") in refused.error["message"]
        assert "MLHUB_PACKAGE_HOSTS" in refused.error["remedy"]
        assert asked == []
        settings.PACKAGE_HOSTS = (elsewhere.removeprefix("http://"),)
        private = settled(uploaded(cast, code, name="n"))
        assert private.error["code"] == "host_refused", "a page of the index may not send it to this machine"
        assert asked == []


def test_a_package_without_a_wheel_is_built_from_its_source(cast, index):
    environment = built(cast, index[0], "out('built')")
    assert found_by(environment) == ["built"]
    assert environment.packages == [{"name": "hostile", "version": "1.0"}]


def test_a_wheel_is_taken_where_there_is_one_and_no_code_runs(cast, index, tmp_path):
    root = index[0]
    write_wheel(root / "files", "hostile", "0.9", {"hostile.py": "FOUND = ['wheel']\n"})
    assert found_by(built(cast, root, "out('code ran')")) == ["wheel"]


def test_code_of_a_source_finds_no_secrets_of_the_platform(cast, index, tmp_path, monkeypatch):
    monkeypatch.setenv("MLHUB_SECRET_KEY", SECRET)
    monkeypatch.setenv("UV_PUBLISH_TOKEN", SECRET)
    (tmp_path / "secret").write_text(SECRET)
    monkeypatch.setenv("MLHUB_HOME", str(tmp_path))
    attack = f"""
import glob, os
places = ['/proc/self/environ', '/proc/1/environ', {str(tmp_path / "secret")!r}, '/etc/shadow', '/root/.netrc']
for path in places + glob.glob('/proc/[0-9]*/environ'):
    try:
        text = open(path, 'rb').read().decode(errors='replace')
    except OSError:
        continue
    if {SECRET!r} in text or path == '/etc/shadow':
        out('read ' + path)
out(sorted(name for name in os.environ if 'MLHUB' in name or 'DJANGO' in name or 'PUBLISH' in name))
out(os.path.exists({str(tmp_path / "secret")!r}))
"""
    assert found_by(built(cast, index[0], attack)) == [[], False]


def test_code_of_a_source_reaches_neither_the_database_nor_other_hosts(cast, index, settings):
    database = settings.DATABASES["default"]
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        attack = f"""
import os, socket, urllib.request
def tried(what, act):
    try:
        act()
    except Exception as error:
        return
    out(what)
for place in [({str(database["HOST"] or "127.0.0.1")!r}, {int(database["PORT"] or 5432)}), ('127.0.0.1', {port}),
              ('169.254.169.254', 80), ('10.0.0.1', 80), ('1.1.1.1', 443)]:
    tried(place, lambda: socket.create_connection(place, 3))
for address in ['http://127.0.0.1:{port}/', 'http://169.254.169.254/latest/', 'http://localhost:{port}/',
                'http://2130706433:{port}/', 'http://[::1]:{port}/', 'https://pypi.org/']:
    tried(address, lambda: urllib.request.urlopen(address, timeout=5))
def tunnel(target):
    with socket.create_connection(('127.0.0.1', 3128), 3) as proxy:
        proxy.sendall(f'CONNECT {{target}} HTTP/1.1\\r\\n\\r\\n'.encode())
        if b' 200 ' not in proxy.recv(100):
            raise OSError
for target in ['127.0.0.1:{port}', '127.0.0.1:{int(database["PORT"] or 5432)}', 'localhost:{port}', '[::1]:{port}']:
    tried('tunnel ' + target, lambda: tunnel(target))
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    def datagram():
        with socket.socket(socket.AF_INET, kind) as one:
            one.sendto(b'x', ('127.0.0.1', {port}))
            if kind == socket.SOCK_DGRAM:
                one.settimeout(1); one.recv(1)
    tried(str(kind), datagram)
"""
        assert found_by(built(cast, index[0], attack)) == []
        other.settimeout(0.2)
        with pytest.raises(TimeoutError):
            other.accept()


def test_code_of_a_source_leaves_no_process_and_no_file_behind(cast, index, settings):
    mark = f"daemon-{os.getpid()}-{time.monotonic_ns()}"
    attack = f"""
import os, signal, subprocess, sys
def place(path):
    try:
        open(path, 'w').write('x')
        out(path)
    except OSError:
        pass
library = os.path.dirname(os.__file__)
for path in ['/usr/planted', '/etc/planted', sys.base_prefix + '/planted', library + '/planted.py']:
    place(path)
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 256)  # or the installer waits for what it prints
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execv('/bin/sh', ['sh', '-c', 'sleep 600; : {mark}'])
    os._exit(0)
"""
    assert found_by(built(cast, index[0], attack)) == []
    end = time.monotonic() + 20
    while (left := _running(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []
    assert list((settings.ENVIRONMENT_ROOT / "builds").iterdir()) == []


def test_links_that_code_puts_into_a_layer_are_not_followed(cast, index, tmp_path, settings):
    (tmp_path / "secret").write_text(f"Metadata-Version: 2.1\nName: {SECRET}\nVersion: 1.0\n")
    attack = f"""
import glob, os
for layer in glob.glob({str(settings.ENVIRONMENT_ROOT / "builds")!r} + '/*/layer'):
    planted = layer + '/planted-1.0.dist-info'
    if not os.path.exists(planted):
        os.makedirs(planted)
        os.symlink({str(tmp_path / "secret")!r}, planted + '/METADATA')
        os.symlink({str(tmp_path)!r}, layer + '/folder')
    out(os.path.islink(layer + '/folder'))
"""
    environment = built(cast, index[0], attack)
    assert found_by(environment) == [True]
    assert SECRET not in json.dumps(environment.packages) + environment.log
    with blob_store().open(environment.layer_id) as file, zipfile.ZipFile(io.BytesIO(file.read())) as layer:
        assert {name.partition("/")[0] for name in layer.namelist()} == {"hostile.py", "hostile-1.0.dist-info"}


@pytest.mark.parametrize(
    ("attack", "codes"),
    [
        ("while True: pass", ("too_slow", "over_a_limit")),
        (
            "x = bytearray(12 * 2**30)\nfor i in range(0, len(x), 4096): x[i] = 1",
            ("over_a_limit", "source_build_failed"),
        ),
        (
            "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
            ("over_a_limit", "too_slow"),
        ),
        (
            "import os\nos.chdir(os.environ['UV_CACHE_DIR'])\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')",
            ("too_large", "source_build_failed"),
        ),
        (
            "import os\nn = 0\nwhile True:\n    n += 1\n"
            "    open(os.environ['UV_CACHE_DIR'] + f'/{n}', 'wb').write(bytes(2**20))",
            ("too_large",),
        ),
    ],
    ids=["time", "memory", "forks", "depth", "disk"],
)
def test_code_of_a_source_that_takes_too_much_ends_the_build(cast, index, settings, attack, codes):
    settings.ENVIRONMENT_TIMEOUT_S, settings.MAX_ENVIRONMENT_BYTES = 20.0, 200 * 2**20
    environment = built(cast, index[0], attack)
    assert environment.state == "failed"
    assert environment.error["code"] in codes, (environment.error, environment.log)
    assert list((settings.ENVIRONMENT_ROOT / "builds").iterdir()) == []
    assert not Holding.objects.filter(owner_kind="environment").exists()


def test_a_source_that_never_ends_is_named_with_the_last_line_that_it_printed(cast, index, settings, monkeypatch):
    settings.ENVIRONMENT_TIMEOUT_S = 600.0
    logs, monotonic = settings.ENVIRONMENT_ROOT / "builds", time.monotonic

    def past_the_limit_once_it_printed() -> float:
        printed = any(b"compiling kernels" in log.read_bytes() for log in logs.rglob("log.txt"))
        return monotonic() + (settings.ENVIRONMENT_TIMEOUT_S if printed else 0)

    monkeypatch.setattr(installer, "time", SimpleNamespace(monotonic=past_the_limit_once_it_printed))
    environment = built(cast, index[0], "print('compiling kernels', flush=True)\nimport time\ntime.sleep(10**6)")
    assert (environment.state, environment.error["code"]) == ("failed", "too_slow"), environment.log
    assert "the last source in it was hostile==1.0." in environment.error["message"]
    assert environment.error["message"].endswith("The last line of its log: compiling kernels")


def test_what_code_writes_into_its_cache_no_other_build_sees(cast, index, settings):
    attack = """
import os
for parent, _, files in os.walk(os.environ['UV_CACHE_DIR']):
    for name in files:
        out('wording' in name)
        try:
            open(os.path.join(parent, name), 'wb').write(b'poisoned')
        except OSError:
            pass
"""
    code = {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"wording\n"}
    root = index[0]
    write_index(root, root / "files")
    assert settled(uploaded(cast, code)).state == "ready"
    found = found_by(built(cast, root, attack))
    assert True not in found
    after = settled(uploaded(cast, code | {"requirements.txt": b"wording>=1\n"}, name="n"))
    assert (after.state, after.error) == ("ready", None)


@pytest.mark.parametrize(
    ("change", "words"),
    [("switch", "MLHUB_BUILD_SOURCES"), ("password", "credentials of the package index"), ("sandbox", "all parts")],
)
def test_sources_are_not_built_where_that_is_not_safe_and_the_remedy_says_why(
    cast, index, settings, monkeypatch, change, words
):
    root, address, _ = index
    if change == "switch":
        settings.BUILD_SOURCES = False
    if change == "password":
        settings.PACKAGE_INDEX_URL = f"{address.replace('//', '//bob:secret@')}/simple"
    if change == "sandbox":
        weak = isolations.Isolation(False, False, has_landlock=True, has_filter=True)
        monkeypatch.setattr("mlhub.environments.enclosed.process.isolation", lambda: weak)
    environment = built(cast, root, "out('code ran')")
    assert (environment.state, environment.error["code"]) == ("failed", "no_wheel")
    assert words in environment.error["remedy"]


def test_without_namespaces_wheels_are_installed_by_what_is_left_of_the_sandbox(cast, index, monkeypatch):
    weak = isolations.Isolation(False, False, has_landlock=True, has_filter=True)
    monkeypatch.setattr("mlhub.environments.enclosed.process.isolation", lambda: weak)
    root = index[0]
    write_index(root, root / "files")
    version = settled(uploaded(cast, {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"wording\n"}))
    assert (version.state, version.error) == ("ready", None)


def test_the_way_through_a_proxy_of_the_site_is_kept_with_its_password(cast, index, monkeypatch):
    root, address, _ = index
    write_index(root, root / "files")
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as site:
        threading.Thread(target=_site_proxy, args=(site, address, heads), daemon=True).start()
        monkeypatch.setenv("HTTP_PROXY", f"http://ada:p%40ss@127.0.0.1:{site.getsockname()[1]}")
        version = settled(uploaded(cast, {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"wording\n"}))
    assert (version.state, version.error) == ("ready", None)
    assert heads
    assert [head for head in heads if f" {address}/".encode() not in head or b"Basic YWRhOnBAc3M=" not in head] == []


def _site_proxy(site: socket.socket, address: str, heads: list[bytes]) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    while True:
        try:
            inside, _ = site.accept()
        except OSError:
            return
        with inside, socket.create_connection((host, int(port))) as outside:
            head = inside.recv(2**16)
            heads.append(head)
            outside.sendall(head.replace(address.encode(), b"", 1))
            while data := outside.recv(2**16):
                inside.sendall(data)


def test_an_index_and_a_proxy_of_the_site_may_have_certificates_of_its_own_authority(
    cast, tmp_path, settings, monkeypatch
):
    root, authority = tmp_path / "index", site_authority(tmp_path)
    write_wheelhouse(root / "files")
    write_index(root, root / "files")
    settings.ENVIRONMENT_ROOT, settings.WHEELHOUSE = tmp_path / "environments", ""
    settings.ENVIRONMENT_TIMEOUT_S = 40.0
    code = {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"wording\n"}
    with served(root, tls=authority.for_server()) as (address, _), site_proxy(authority) as (proxy, heads):
        settings.PACKAGE_INDEX_URL = f"{address}/simple"
        unknown = settled(uploaded(cast, code, name="unknown"))
        assert (unknown.state, unknown.error["code"]) == ("refused", "index_unreachable"), unknown.error
        settings.CA_FILE = str(authority.certificate)
        monkeypatch.setenv("HTTPS_PROXY", f"https://ada:p%40ss@{proxy}")
        known = settled(uploaded(cast, code, name="known"))
    assert (known.state, known.error) == ("ready", None)
    assert heads
    assert [head for head in heads if not head.startswith(b"CONNECT 127.0.0.1:")] == []


def _running(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_bytes()
        except OSError:
            continue
        if mark.encode() in text and b"sleep" in text:
            found.append(text.decode(errors="replace"))
    return found


def test_a_wheel_with_a_file_above_the_limit_is_named_as_too_large(cast, index, settings):
    root = index[0]
    settings.MAX_ENVIRONMENT_BYTES = 2**20
    write_wheel(root / "files", "weighty", "1.0", {"weighty.txt": "0" * 3 * 2**20})
    write_index(root, root / "files")
    code = {"model.py": b"def build_model(h): pass\n", "requirements.txt": b"weighty\n"}
    refused = settled(uploaded(cast, code, name="weighty"))
    assert (refused.state, refused.error["code"]) == ("refused", "package_too_large"), refused.environment.log
    assert "1,048,576 bytes" in refused.error["message"]
    assert "MLHUB_MAX_ENVIRONMENT_BYTES" in refused.error["remedy"]
