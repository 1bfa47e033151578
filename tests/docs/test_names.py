# SPDX-License-Identifier: Apache-2.0
"""Names that pages give are names that there are: of the code, of the Python client, of the dashboard."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import mlhub.client
from mlhub.client import AsyncClient, Client
from mlhub.core.rate_limits.limits import DEFAULTS, setting_of
from tests.docs.pages import PAGES, ROOT, blocks, files, inline_code, prose_of, text_of

PRODUCT = ("mlhub/", "scheduler/", "deploy/", "benchmarks/", "frontend/openapi.yaml", "frontend/src/")
BINARY = {".pb", ".gz", ".zip", ".png", ".svg", ".md", ".po", ".csv"}
A_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
COMPOSED = {"request_withdrawn", "user_max_cpus", "user_max_memory_bytes", *map(setting_of, DEFAULTS)}
ABOUT_TESTS = ("CONTRIBUTING.md", "docs/guides/guarantees.md", "docs/guides/strategies.md")
GUIDES = [page for page in PAGES if not page.startswith("docs/decisions/")]  # decisions tell of what was, too
# Names of other software, and examples of what users write.
FOREIGN = {
    "docs/guides/install.md": """
        AbortMultipartUpload ListBucketMultipartUploads MLHUB_OIDC_ROLES_FILE MLHUB_PASSWORD PIP_FIND_LINKS""",
    "docs/guides/kubernetes.md": "AbortMultipartUpload ListBucketMultipartUploads MLHUB_TEST_KUBECONFIG",
    "docs/guides/mlflow.md": """
        MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD MLFLOW_MULTIPART_DOWNLOAD_CHUNK_SIZE
        MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE MLFLOW_TRACKING_SERVER_CERT_PATH MLHUB_TEST_MLFLOW_PYTHONS
        delete_experiment start_run""",
    "docs/guides/rest-api.md": "metadataForPartialUploads",
    "docs/guides/scripts.md": """
        BatchInc HOROVOD_AUTOTUNE HfArgumentParser ImageFolder KERAS_BACKEND MV_Barrier SyncBatchNorm disable_tqdm
        log_with max_iters output_dir per_device_train_batch_size resume_from_checkpoint set_updater store_path
        train_file val_loss""",
    "docs/guides/single-sign-on.md": """
        entryUUID idAttr ipaUniqueID objectClass objectGUID preferredUsernameAttr sAMAccountName""",
    "docs/guides/strategies.md": "distributed_after",
    "docs/guides/threat-model.md": "apparmor_restrict_unprivileged_userns",
    "docs/guides/training.md": "SparkModel distributed_after distributed_config loadCaffe loadTorch top_k_accuracy",
}
# Words in italics with a capital: pages and buttons of other software, titles, and a template's text.
NOT_OF_THE_DASHBOARD = {
    "SECURITY.md": "Security|Report a vulnerability",
    "examples/README.md": "Optical Recognition of Handwritten Digits|Wine",
    "docs/guides/bring-your-model.md": "Numbers: 625,72 = 625.72",
    "docs/guides/install.md": "Sign in with ...",
    "docs/guides/notebooks.md": "File > Shut Down",
    "docs/guides/quota.md": "Vision|Speech",
}
CODE = re.compile(r"`([^`]+)`")
CATALOGUE = (ROOT / "frontend/src/locales/zh-CN.po").read_text()


@cache
def names_in(*folders: str) -> frozenset[str]:
    """Every identifier in the files below these folders, and in their paths."""
    found: set[str] = set()
    for file in files():
        if file.startswith(folders) and Path(file).suffix not in BINARY:
            found |= set(A_NAME.findall((ROOT / file).read_text(errors="replace")))
    return frozenset(found)


@cache
def names_of_files() -> frozenset[str]:
    return frozenset(name for file in files() for name in A_NAME.findall(file))


def is_a_name(word: str) -> bool:
    """A word of one part may be anything; one of several is a name of the code."""
    return "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word) is not None


@pytest.mark.parametrize("page", GUIDES)
def test_a_name_in_code_marks_is_one_of_the_code(page: str) -> None:
    words = {word for piece in inline_code(page) for word in A_NAME.findall(piece) if is_a_name(word)}
    known = names_in(*PRODUCT) | names_of_files() | COMPOSED
    known |= names_in("tests/") if page in ABOUT_TESTS else set()
    known |= set(FOREIGN.get(page.replace("docs/zh/", "docs/guides/"), "").split())
    assert words - known == set()


@pytest.mark.parametrize("page", FOREIGN)
def test_a_foreign_name_is_on_its_page_and_not_ours(page: str) -> None:
    names = set(FOREIGN[page].split())
    assert {name for name in names if name not in text_of(page)} == set()
    assert names & (names_in(*PRODUCT) - names_in("benchmarks/")) == set()


@pytest.mark.parametrize("page", [page for page in PAGES if "client." in text_of(page)])
def test_what_pages_call_and_import_of_the_python_client_is_there(page: str) -> None:
    text = text_of(page)
    for of in (Client("http://127.0.0.1:9", "none"), AsyncClient("http://127.0.0.1:9", "none")):
        called = set(re.findall(r"\bclient\.([a-z_]+)\.([a-z_]+)\(", text))
        assert {
            (resource, method) for resource, method in called if not hasattr(getattr(of, resource), method)
        } == set()
    for names in re.findall(r"from mlhub\.client import (.+)$", text, re.MULTILINE):
        assert {name.strip() for name in names.split(",")} <= set(mlhub.client.__all__)


@cache
def messages() -> dict[str, set[str]]:
    """The dashboard's texts in English, with their translations."""
    found: dict[str, set[str]] = {}
    for entry in CATALOGUE.split("\n\n"):
        if parts := re.search(r"^msgid (.*?)^msgstr (.*)", entry, re.MULTILINE | re.DOTALL):
            english, chinese = ("".join(re.findall(r'"(.*)"', part)) for part in parts.groups())
            found.setdefault(english, set()).add(chinese)
    return found


def marked(text: str) -> tuple[set[str], set[str]]:
    """What a text has in bold, and in italics."""
    prose = re.sub(r"`[^`]*`", "", text)
    bold = re.findall(r"\*\*(.+?)\*\*", prose, re.DOTALL)
    italics = re.findall(r"(?<![\w*])\*([^\s*][^*]*?)\*(?!\*)", re.sub(r"\*\*.+?\*\*", "", prose, flags=re.DOTALL))
    return {" ".join(text.split()) for text in bold}, {" ".join(text.split()) for text in italics}


@pytest.mark.parametrize("page", [page for page in GUIDES if not page.startswith("docs/zh/")])
def test_pages_and_buttons_in_italics_are_called_so_by_the_dashboard(page: str) -> None:
    if page in ("docs/guides/single-sign-on.md", "docs/glossary.md"):  # of providers; of journals
        return
    named = {text for text in marked(prose_of(page))[1] if text[0].isupper()}
    assert named - messages().keys() - set(NOT_OF_THE_DASHBOARD.get(page, "").split("|")) == set()


@pytest.mark.parametrize("page", [page for page in GUIDES if page.startswith("docs/zh/") and "README" not in page])
def test_the_english_page_names_the_same_pages_and_buttons_as_the_chinese_one(page: str) -> None:
    """In Chinese what is bold is a name of the dashboard; in English it is bold or in italics."""
    bold, italics = marked(prose_of(page.replace("docs/zh/", "docs/guides/")))
    english = {text.lower() for text in bold | italics}
    for name in marked(prose_of(page))[0]:
        originals = {text.lower() for text, translations in messages().items() if name in translations}
        assert originals & english, f"{name}: none of {sorted(originals)} is marked in the English page"


@pytest.mark.parametrize("page", [page for page in GUIDES if page.startswith("docs/zh/") and "README" not in page])
def test_each_paragraph_in_chinese_has_the_code_the_links_and_the_names_of_its_english_one(page: str) -> None:
    """A sentence that one language lacks is seen by that."""
    english, chinese = blocks(page.replace("docs/zh/", "docs/guides/")), blocks(page)
    assert len(english) == len(chinese)
    for original, translated in zip(english, chinese, strict=True):
        assert set(CODE.findall(original)) == set(CODE.findall(translated)), original
        assert original.count("](") == translated.count("]("), original
        shown = marked(translated)[0]
        named = {text for text in marked(original)[1] if text[0].isupper() and text in messages()}
        assert {text for text in named if not messages()[text] & shown} == set(), original
