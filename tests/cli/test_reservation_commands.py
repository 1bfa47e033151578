# SPDX-License-Identifier: Apache-2.0
"""mlhub quota boost --starts: GPUs that are reserved for a later time, listed, asked for and cancelled."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.events.models import Event
from mlhub.tenants.actions import set_quota
from mlhub.tenants.models import QuotaBoost, QuotaRequest
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_reservation_is_previewed_made_listed_and_cancelled(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    starts = timezone.now() + timedelta(hours=2, minutes=1)
    argv = ["quota", "boost", "vision", "--guarantee", "2", "--hours", "3", "--starts", f"{starts:%Y-%m-%dT%H:%M:%S}"]
    assert main([*argv, "--dry-run"]) == CommandStatus.OK
    assert "as if it began now" in " ".join(capsys.readouterr().err.split())
    assert main(argv) == CommandStatus.OK
    said = capsys.readouterr()
    made, note = said.out.strip(), " ".join(said.err.split())
    assert "vision is boosted in 2 h" in note
    assert "it ends in 5 h" in note
    found = QuotaBoost.objects.get()
    assert (found.starts_at, found.began_at) == (starts.replace(microsecond=0), None)
    assert found.ends_at - found.starts_at == timedelta(hours=3)
    assert main(["quota", "boosts"]) == CommandStatus.OK
    heading, row = capsys.readouterr().out.splitlines()
    assert row[heading.index("STARTS") :].startswith("in 2 h")
    assert main(["-o", "json", "quota", "boosts"]) == CommandStatus.OK
    assert [(row["id"], row["is_in_effect"]) for row in json.loads(capsys.readouterr().out)] == [(made, False)]
    assert main(["quota", "end-boost", made]) == CommandStatus.OK
    assert Event.objects.filter(kind="quota.boost_cancelled").count() == 1


def test_a_beginning_that_is_no_time_or_over_is_refused_with_the_remedy(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    argv = ["quota", "boost", "vision", "--guarantee", "2", "--hours", "3", "--starts"]
    assert main([*argv, "tomorrow"]) == CommandStatus.REFUSED
    assert "--starts tomorrow is no time. Write it as" in " ".join(capsys.readouterr().err.split())
    assert main([*argv, (timezone.now() - timedelta(hours=1)).isoformat()]) == CommandStatus.REFUSED
    assert "starts_at" in capsys.readouterr().err
    assert not QuotaBoost.objects.exists()


def test_a_request_names_its_beginning_and_its_approval_reserves(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_quota(bob.a, guarantee=4, actor=bob.root)
    starts = (timezone.now() + timedelta(hours=2, minutes=1)).isoformat()
    argv = ["quota", "request", "vision", "--guarantee", "2", "--reason", "a course", "--starts", starts]
    assert main(argv) == CommandStatus.REFUSED  # for good, from a later time on
    assert "starts_at" in capsys.readouterr().err
    assert main([*argv, "--hours", "4"]) == CommandStatus.OK
    asked = capsys.readouterr().out.strip()
    assert main(["quota", "requests"]) == CommandStatus.OK
    heading, row = capsys.readouterr().out.splitlines()
    assert row[heading.index("FROM") :].startswith("in 2 h")
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["quota", "approve", asked, "--dry-run"]) == CommandStatus.OK
    assert "as if it began now" in " ".join(capsys.readouterr().err.split())
    assert main(["quota", "approve", asked]) == CommandStatus.OK
    found = QuotaBoost.objects.get()
    assert (found.began_at, found.starts_at) == (None, QuotaRequest.objects.get().starts_at)
