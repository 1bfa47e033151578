# SPDX-License-Identifier: Apache-2.0
"""After a rotation of the secret key nothing that is stored needs the earlier one, or it is named."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mlhub.core.security.encryption import cipher
from mlhub.environments.models import ProjectSecret
from mlhub.environments.secrets import PURPOSE, put_secret, secret_values
from mlhub.recovery.reencryption import COLUMNS
from mlhub.tenants.actions.sign_in import second_factor
from mlhub.tenants.models import SecondFactor
from mlhub.webhooks.actions import PURPOSE as OF_WEBHOOKS
from mlhub.webhooks.models import Webhook
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db
OLD, NEW = "an earlier key of 32 characters or more", "the present key of 32 characters or more"


@pytest.fixture
def cast(settings: Any) -> Cast:
    """One value of each kind, encrypted with the earlier key; then the key is rotated."""
    made = make_cast()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    put_secret(made.project_a, name="HF_TOKEN", value="hf_0123456789", actor=made.alice)
    Webhook.objects.create(
        organisation=made.a, url="https://example.org", encrypted_secret=cipher(OF_WEBHOOKS).encrypt(b"w")
    )
    factor = cipher(second_factor.PURPOSE).encrypt(b"f").decode()
    SecondFactor.objects.create(user=made.bob, encrypted_secret=factor)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    return made


def run(*options: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("reencrypt", *options, stdout=out, stderr=err)
    except CommandError as error:
        err.write(str(error))
    return out.getvalue(), err.getvalue()


def test_after_it_the_earlier_key_can_be_forgotten(cast: Cast, settings: Any) -> None:
    assert run() == (
        "Encrypted with the present key: secrets of projects 1, webhooks 1, second factors 1.\n", ""
    )  # fmt: skip
    settings.SECRET_KEY_FALLBACKS = []
    assert secret_values(cast.project_a.pk, ["HF_TOKEN"]) == {"HF_TOKEN": "hf_0123456789"}
    assert cipher(OF_WEBHOOKS).decrypt(bytes(Webhook.objects.get().encrypted_secret)) == b"w"
    assert cipher(second_factor.PURPOSE).decrypt(SecondFactor.objects.get().encrypted_secret.encode()) == b"f"
    assert run("--check") == ("Decrypted: secrets of projects 1, webhooks 1, second factors 1.\n", "")


def test_a_look_changes_nothing(cast: Cast, settings: Any) -> None:
    before = bytes(ProjectSecret.objects.get().encrypted)
    assert run("--check")[1] == ""
    assert bytes(ProjectSecret.objects.get().encrypted) == before
    settings.SECRET_KEY_FALLBACKS = []
    assert secret_values(cast.project_a.pk, ["HF_TOKEN"]) == {}


def test_what_no_key_decrypts_is_named_with_the_remedy_and_the_rest_is_done(cast: Cast, settings: Any) -> None:
    put_secret(cast.project_b, name="NEWER", value="of the present key", actor=cast.charlie)
    settings.SECRET_KEY_FALLBACKS = []
    out, err = run()
    assert "secrets of projects 1, webhooks 0, second factors 0" in out
    assert f"No key decrypts the secret HF_TOKEN of the project vision ({cast.project_a.pk}): set it again." in err
    assert "the second factor of bob: reset it on the page Users" in err
    assert "3 stored values are of a key that is not there. Name it in MLHUB_SECRET_KEY_FALLBACKS" in err


def test_every_kind_of_stored_secret_is_one_of_its_columns() -> None:
    """Secrets of pods of agents last for a launch, which is repeated; cookies are the browser's."""
    assert {column.purpose for column in COLUMNS} == {PURPOSE, OF_WEBHOOKS, second_factor.PURPOSE}
