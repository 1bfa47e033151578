# SPDX-License-Identifier: Apache-2.0
"""Verdicts on what misbehaves while it is looked into: each says what happened and what to do about it."""

from __future__ import annotations

import json

import pytest

from mlhub.storage.inspection import inspect, storable
from mlhub.tenants.models import Project
from tests.datasets.files import zipped
from tests.storage.blobs import stored

GIB = 2**30
FORGE = """
import json, os
for fd in range(3, 64):
    try:
        os.write(fd, json.dumps(ANSWER).encode())
    except OSError:
        pass
os._exit(0)
"""


@pytest.fixture(autouse=True)
def _sandbox(settings, tmp_path):
    settings.SANDBOX_ROOT, settings.BLOB_ROOT = tmp_path / "sandbox", tmp_path / "blobs"


def verdict(tmp_path, code: str, **limits):
    path = tmp_path / "model.zip"
    path.write_bytes(zipped({"model.py": code.encode()}))
    return inspect("model", "--kind=package", "--entry=model", "--path", stored(path), project=Project(), **limits)


@pytest.mark.parametrize(
    ("code", "expected_code", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", "ended_early", "SIGKILL"),
        ("import os; os.abort()", "ended_early", "SIGABRT"),
        ("import os; os._exit(3)", "ended_early", "exit status 3"),
        ("import os; os._exit(0)", "no_answer", "without an answer"),
        ("x = bytearray(2**34)", "out_of_memory", "memory"),
        ("import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)", "forbidden_call", "SIGSYS"),
        ("raise ValueError('no\\x00thing')", "user_code", "ValueError"),
        ("ANSWER = {'ok': False, 'error': 'x' * 9}" + FORGE, "no_answer", "no answer"),
    ],
)
def test_code_that_ends_its_process_is_an_error_with_words(tmp_path, code, expected_code, words):
    error = verdict(tmp_path, code).error
    assert error is not None
    assert (error["code"], error["field"]) == (expected_code, "file")
    assert words in error["message"]
    assert error["remedy"]
    assert "\\u0000" not in json.dumps(error)


def test_code_that_never_ends_is_reported(tmp_path):
    error = verdict(tmp_path, "while True: pass", timeout_s=0.3).error
    assert (error["code"], "0 seconds" in error["message"]) == ("too_slow", True)


def test_an_answer_that_code_makes_up_can_still_be_stored(tmp_path):
    forged = verdict(tmp_path, 'ANSWER = {"ok": True, "functions": ["a\\x00", float("nan"), "\\ud800"]}' + FORGE)
    assert forged.error is None
    assert forged.found == {"functions": ["a\N{REPLACEMENT CHARACTER}", None, "?"]}


def test_nothing_of_an_inspection_is_left_behind(tmp_path):
    verdict(tmp_path, "import os; open('left', 'w').write('x'); os._exit(0)")
    assert list((tmp_path / "sandbox").iterdir()) == []


def test_json_that_is_nested_too_deep_is_refused():
    deep: list = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        storable(deep)
    assert storable({"a\x00": [1.5, True, None, float("inf")]}) == {
        "a\N{REPLACEMENT CHARACTER}": [1.5, True, None, None]
    }
