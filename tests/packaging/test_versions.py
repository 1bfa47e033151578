# SPDX-License-Identifier: Apache-2.0
"""One version: mlhub/_version.py is the source, and everything else that names a version agrees with it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from django.conf import settings

from mlhub._version import __version__
from tests.packaging.conftest import ROOT

IMAGE = re.compile(r"mlhub-(?:server|runtime):(\S+?)[,}\s\"'`]")
NAMES_IMAGES = ["deploy/images/server.Dockerfile", "deploy/images/runtime.Dockerfile", "deploy/compose/compose.yaml",
                "deploy/helm/mlhub/values.yaml", "docs/guides/kubernetes.md"]  # fmt: skip
IMPORTED = re.compile(r"^ *(?:from (\w[\w.]*) import |import (\w[\w., ]*))", re.MULTILINE)
REMOVED_BY_3_13 = {
    "aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp",
    "lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "sndhdr", "smtpd", "spwd", "sunau",
    "telnetlib", "uu", "xdrlib",
}  # fmt: skip


def test_the_wheel_has_the_version(wheel: Path) -> None:
    assert wheel.name == f"mlhub-{__version__}-py3-none-any.whl"


def test_the_api_has_the_version() -> None:
    assert settings.SPECTACULAR_SETTINGS["VERSION"] == __version__
    schema = (ROOT / "frontend" / "openapi.yaml").read_text()
    assert yaml.safe_load(schema[: schema.index("\npaths:")])["info"]["version"] == __version__


def test_the_chart_has_the_version() -> None:
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "mlhub" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_dashboard_has_the_version() -> None:
    package = json.loads((ROOT / "frontend" / "package.json").read_text())
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text())
    assert {package["version"], lock["version"], lock["packages"][""]["version"]} == {__version__}


@pytest.mark.parametrize("name", NAMES_IMAGES)
def test_images_are_named_with_the_version(name: str) -> None:
    assert set(IMAGE.findall((ROOT / name).read_text())) == {__version__}


def test_the_changelog_has_a_release_of_the_version_below_what_is_unreleased() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", __version__]


def test_the_version_stands_in_one_place_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "mlhub/_version.py"


def test_no_module_is_imported_that_python_3_13_has_no_more() -> None:
    found = set()
    for path in [*(ROOT / "mlhub").rglob("*.py"), *(ROOT / "scheduler").rglob("*.py")]:
        for of_module, names in IMPORTED.findall(path.read_text()):
            found |= {name.strip().partition(".")[0].split()[0] for name in (of_module or names).split(",")}
    assert {"json", "django"} <= found
    assert not found & REMOVED_BY_3_13
