# SPDX-License-Identifier: Apache-2.0
"""A page shows what happens while it is opened, and while its stream is interrupted, without being loaded again."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.platform import PASSWORD, RunningPlatform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
STREAM = "**/api/v1/stream*"


def sign_in(platform: RunningPlatform, page: Any, name: str) -> None:
    with httpx.Client(base_url=f"{platform.url}/api/v1", headers={"Referer": f"{platform.url}/"}) as client:
        client.get("/auth/csrf")
        proof = {"X-CSRFToken": client.cookies["csrftoken"]}
        client.post("/auth/login", json={"username": name, "password": PASSWORD}, headers=proof).raise_for_status()
        page.context.add_cookies([{"name": k, "value": v, "url": platform.url} for k, v in client.cookies.items()])


class HeldStream:
    """The stream's requests of a page are on their way, as over a slow link, until they are let through."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.held: list[Any] = []
        page.route(STREAM, lambda route: self.held.append(route))

    def let_through(self) -> None:
        for route in self.held:
            route.continue_()
        self.page.unroute(STREAM)


def test_what_happens_before_the_stream_is_open_is_shown(platform: RunningPlatform, page: Any) -> None:
    from playwright.sync_api import expect

    person = platform.person("gina", organisation="G")
    project = person.post("/projects", organisation=person.organisation["id"], name="gaps")
    token = person.post("/tokens", name="logger", scopes=["read", "submit"])["token"]
    sign_in(platform, page, "gina")

    # an event of the record
    stream = HeldStream(page)
    page.goto("/quotas")
    expect(page.get_by_role("heading", name="Quotas", exact=True)).to_be_visible()
    expect(page.get_by_text("gaps project", exact=True).first).to_be_visible()
    person.post("/projects", organisation=person.organisation["id"], name="latecomers")
    stream.let_through()
    expect(page.get_by_text("latecomers project", exact=True).first).to_be_visible(timeout=20_000)

    # a change of which no event is kept, while another page of the same server listens already
    listener = page.context.browser.new_page(base_url=platform.url)
    sign_in(platform, listener, "gina")
    listener.goto("/tokens")
    expect(listener.get_by_text("Live", exact=True).last).to_be_visible()
    stream = HeldStream(page)
    page.goto("/runs")
    expect(page.get_by_text("No runs yet", exact=True)).to_be_visible()
    logged = httpx.post(
        f"{platform.url}/api/2.0/mlflow/runs/create",
        json={"experiment_id": project["id"], "run_name": "late-run"},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert logged.is_success, logged.text
    stream.let_through()
    expect(page.get_by_text("late-run", exact=True).first).to_be_visible(timeout=20_000)


def test_what_happens_during_a_break_before_any_event_is_shown(platform: RunningPlatform, page: Any) -> None:
    from playwright.sync_api import expect

    person = platform.person("hans", organisation="H")
    person.post("/projects", organisation=person.organisation["id"], name="breaks")
    sign_in(platform, page, "hans")
    here = person.get("/auth/me")["stream_cursor"]
    hello = f"id: {here}\nevent: heartbeat\ndata: {{}}\n\n"
    stream = HeldStream(page)
    # before that one, once: the stream breaks after its first frame, and the next one is held
    page.route(STREAM, lambda route: route.fulfill(content_type="text/event-stream", body=hello), times=1)
    page.goto("/quotas")
    expect(page.get_by_text("breaks project", exact=True).first).to_be_visible()
    expect(page.get_by_text("Offline since", exact=False).last).to_be_visible()
    person.post("/projects", organisation=person.organisation["id"], name="meanwhile")
    stream.let_through()
    expect(page.get_by_text("Live", exact=True).last).to_be_visible()
    expect(page.get_by_text("meanwhile project", exact=True).first).to_be_visible(timeout=20_000)
