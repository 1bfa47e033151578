# SPDX-License-Identifier: Apache-2.0
"""Webhooks from the API to a receiver: at least once, signed, tried again, turned off; and who may see them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.jobs.lifecycle import advance
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState, Trigger
from mlhub.retention.tasks import remove_expired
from mlhub.webhooks import delivery, tasks
from mlhub.webhooks.long_waits import report_long_waits
from mlhub.webhooks.models import Delivery, Webhook
from tests.cast import Cast, make_cast
from tests.jobs.builders import job as submitted

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Receiver:
    """A server that answers with `status` and keeps what it got: headers and body of each request."""

    url: str
    status: int = 204
    got: list[tuple[dict[str, str], str]] = field(default_factory=list)

    @property
    def topics(self) -> list[str]:
        return [json.loads(body)["type"].removeprefix("mlhub.") for _, body in self.got]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOW = ["127.0.0.1"]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            found.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(found.status)
            if found.status == 302:
                self.send_header("Location", found.url + "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
    Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def made(cast: Cast, receiver: Receiver, *topics: str) -> dict[str, Any]:
    body = {"url": receiver.url, "topics": list(topics or ["job.failed"])}
    answer = cast.client(cast.alice).post(f"/api/v1/organisations/{cast.a.pk}/webhooks", body, format="json")
    assert answer.status_code == 201, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def failed(cast: Cast, name: str = "digits") -> Job:
    job = submitted(cast.project_a, cast.bob, name=name)
    assert advance(job.pk, trigger=Trigger.REJECT, reason="Its data has no column y.")
    return job


def test_a_job_that_fails_is_delivered_once_and_signed(cast: Cast, receiver: Receiver) -> None:
    failed(cast, "before the webhook was made")
    hook = made(cast, receiver)
    job = failed(cast)
    assert tasks.deliver() == 1
    assert tasks.deliver() == 0
    ((headers, body),) = receiver.got
    event = json.loads(body)
    assert (event["type"], event["subject"]) == ("mlhub.job.failed", f"job/{job.pk}")
    assert (event["data"]["name"], event["data"]["reason"]) == ("digits", "Its data has no column y.")
    assert event["data"]["url"].endswith(f"/jobs/{job.pk}")
    key = base64.b64decode(hook["secret"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_only_what_was_chosen_is_delivered_and_only_of_the_own_organisation(cast: Cast, receiver: Receiver) -> None:
    made(cast, receiver, "dataset.ready")
    failed(cast)
    for organisation in (cast.a, cast.b):
        append("dataset.ready", organisation=organisation, subject_kind="dataset", subject_id=None, name="iris")
    tasks.deliver()
    assert receiver.topics == ["dataset.ready"]


@pytest.mark.slow
def test_a_receiver_that_fails_is_tried_again_under_the_same_id_until_it_is_given_up(
    cast: Cast, receiver: Receiver
) -> None:
    receiver.status = 500
    made(cast, receiver)
    failed(cast)
    for n in range(1, len(delivery.TRIED_AGAIN_AFTER) + 2):
        assert tasks.deliver() == 0
        sent = Delivery.objects.get()
        assert (sent.n_attempts, sent.status_code) == (n, 500)
        tasks.deliver()
        assert len(receiver.got) == n  # not due yet
        Delivery.objects.update(due_at=F("due_at") - timedelta(days=2))
    assert sent.state == "failed"
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    receiver.status = 204
    client = cast.client(cast.alice)
    assert client.post(f"/api/v1/deliveries/{sent.pk}/send").status_code == 202
    assert tasks.deliver() == 1
    assert client.post(f"/api/v1/deliveries/{sent.pk}/send").status_code == 202


def test_a_delivery_that_waits_for_its_next_attempt_is_sent_now_on_request(cast: Cast, receiver: Receiver) -> None:
    receiver.status = 500
    made(cast, receiver)
    failed(cast)
    tasks.deliver()
    sent = Delivery.objects.get()
    receiver.status = 204
    assert tasks.deliver() == 0  # its next attempt is not due yet
    client = cast.client(cast.alice)
    assert client.post(f"/api/v1/deliveries/{sent.pk}/send").status_code == 202
    refused = client.post(f"/api/v1/deliveries/{sent.pk}/send")
    assert (refused.status_code, refused.json()["detail"]) == (409, "It is about to be sent.")
    assert tasks.deliver() == 1
    sent.refresh_from_db()
    assert (sent.state, sent.n_attempts) == ("delivered", 2)


def test_a_redirect_is_not_followed(cast: Cast, receiver: Receiver) -> None:
    receiver.status = 302
    made(cast, receiver)
    failed(cast)
    tasks.deliver()
    assert len(receiver.got) == 1
    assert Delivery.objects.get().error == "Redirects are not followed."


def test_a_receiver_that_is_gone_turns_its_webhook_off_and_admins_see_why(cast: Cast, receiver: Receiver) -> None:
    receiver.status = 410
    hook = made(cast, receiver)
    failed(cast)
    tasks.deliver()
    client = cast.client(cast.alice)
    shown = client.get(f"/api/v1/webhooks/{hook['id']}").json()
    assert (shown["is_active"], shown["disabled_reason"]) == (False, "The receiver answered 410 Gone.")
    assert Event.objects.filter(kind="webhook.disabled", organisation=cast.a).count() == 1
    failed(cast, "while it was off")
    receiver.status = 204
    assert client.patch(f"/api/v1/webhooks/{hook['id']}", {"is_active": True}, format="json").status_code == 200
    assert set(Delivery.objects.values_list("state", flat=True)) == {"failed"}  # nothing of before is sent
    failed(cast, "afterwards")
    tasks.deliver()
    assert [json.loads(body)["data"]["name"] for _, body in receiver.got[1:]] == ["afterwards"]


def test_one_that_was_not_reached_for_days_is_turned_off(cast: Cast, receiver: Receiver) -> None:
    receiver.status = 503
    hook = made(cast, receiver)
    failed(cast)
    tasks.deliver()
    Webhook.objects.update(failing_since=timezone.now() - delivery.DISABLED_AFTER)
    Delivery.objects.update(due_at=timezone.now(), n_attempts=len(delivery.TRIED_AGAIN_AFTER) - 1)
    tasks.deliver()
    assert Webhook.objects.get().is_active  # it is tried once more
    Delivery.objects.update(due_at=timezone.now())
    tasks.deliver()
    shown = cast.client(cast.alice).get(f"/api/v1/webhooks/{hook['id']}").json()
    assert shown["is_active"] is False
    assert shown["disabled_reason"].startswith("No delivery succeeded since")


def test_a_process_that_ends_between_sending_and_writing_sends_again(
    cast: Cast, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(cast, receiver)
    failed(cast)

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as here:
        here.setattr(delivery, "_write_down", killed)
        with pytest.raises(SystemExit):
            tasks.deliver()
    assert tasks.deliver() == 1
    first, second = (headers["webhook-id"] for headers, _ in receiver.got)
    assert first == second


def test_an_organisation_with_many_deliveries_does_not_hold_up_another(cast: Cast, receiver: Receiver) -> None:
    made(cast, receiver, "dataset.ready")
    made(cast, receiver, "job.failed", "dataset.ready")
    for _ in range(delivery.OF_ONE_WEBHOOK + 2):
        append("dataset.ready", organisation=cast.a, subject_kind="dataset", subject_id=None)
    body = {"url": receiver.url, "topics": ["dataset.ready"]}
    assert cast.client(cast.charlie).post(f"/api/v1/organisations/{cast.b.pk}/webhooks", body, format="json").data
    append("dataset.ready", organisation=cast.b, subject_kind="dataset", subject_id=None)
    assert tasks.deliver() == 2 * delivery.OF_ONE_WEBHOOK + 1
    assert tasks.deliver() == 4


def test_a_job_that_waits_for_long_is_reported_once_each_time_that_it_waits(cast: Cast, receiver: Receiver) -> None:
    made(cast, receiver, "job.waiting_long")
    job = submitted(cast.project_a, cast.bob)
    now = timezone.now()
    assert report_long_waits(now) == 0
    later = now + timedelta(hours=1)
    assert report_long_waits(later) == 1
    assert report_long_waits(later + timedelta(minutes=5)) == 0
    tasks.deliver()
    assert receiver.topics == ["job.waiting_long"]
    assert json.loads(receiver.got[0][1])["data"]["waited_s"] >= 3600
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
    assert advance(job.pk, trigger=Trigger.GANG_LOST, now=later + timedelta(hours=1))
    assert report_long_waits(later + timedelta(hours=1, minutes=10)) == 0
    assert report_long_waits(later + timedelta(hours=2)) == 1


def test_a_test_is_sent_on_request(cast: Cast, receiver: Receiver) -> None:
    hook = made(cast, receiver)
    client = cast.client(cast.alice)
    assert client.post(f"/api/v1/webhooks/{hook['id']}/test").status_code == 202
    tasks.deliver()
    assert receiver.topics == ["webhook.test"]
    (row,) = client.get(f"/api/v1/webhooks/{hook['id']}/deliveries").json()["results"]
    assert (row["state"], row["status_code"]) == ("delivered", 204)


@pytest.mark.slow
def test_webhooks_are_of_admins_alone_and_never_show_their_secret(cast: Cast, receiver: Receiver) -> None:
    hook = made(cast, receiver)
    address = f"/api/v1/webhooks/{hook['id']}"
    of_a = f"/api/v1/organisations/{cast.a.pk}/webhooks"
    for person, expected in ((cast.bob, 403), (cast.victor, 403), (cast.charlie, 404)):
        client = cast.client(person)
        assert client.get(of_a).status_code == expected
        for answer in (
            client.get(address), client.patch(address, {"is_active": False}, format="json"), client.delete(address),
            client.post(f"{address}/test"), client.get(f"{address}/deliveries"),
        ):  # fmt: skip
            assert answer.status_code == expected
    alice = cast.client(cast.alice)
    assert hook["secret"].startswith("whsec_")
    assert hook["secret"] not in alice.get(of_a).content.decode() + alice.get(address).content.decode()
    assert alice.delete(address).status_code == 204
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "https://10.0.0.1/", "topics": ["job.failed"]}, "url"),
        ({"url": "https://example.org/", "topics": ["job.flies"]}, "topics"),
        ({"url": "https://example.org/", "topics": []}, "topics"),
        ({"url": "https://example.org/", "topics": ["job.failed"], "secret": "x"}, "secret"),
    ],
)
def test_bad_input_is_refused_by_field(cast: Cast, body: dict[str, Any], field: str) -> None:
    answer = cast.client(cast.alice).post(f"/api/v1/organisations/{cast.a.pk}/webhooks", body, format="json")
    assert answer.status_code == 422
    assert any(str(error["field"]).startswith(field) for error in answer.json()["errors"])


def test_deliveries_that_ended_expire(cast: Cast, receiver: Receiver) -> None:
    made(cast, receiver)
    failed(cast)
    tasks.deliver()
    Delivery.objects.update(ended_at=timezone.now() - timedelta(days=31))
    failed(cast, "new")
    tasks.deliver()
    assert remove_expired()["deliveries"] == 1
    assert Delivery.objects.count() == 1
