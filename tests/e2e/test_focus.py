# SPDX-License-Identifier: Apache-2.0
"""People who use the keyboard stay where they are: a button that waited for its answer has the focus again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.answers import ID
from tests.e2e.chromium import require_chromium
from tests.e2e.dashboard import opened, show

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]
REFUSAL = {"type": "about:blank", "title": "Conflict", "status": 409, "code": "busy", "detail": "Not now."}


def test_a_button_that_waited_for_a_refusal_has_the_focus_again() -> None:
    require_chromium()
    waiting: list[Any] = []
    with opened("usual") as (page, _):
        show(page, f"/jobs/{ID}/checkpoints")
        page.route("**/api/v1/jobs/*/cancel", lambda route: waiting.append(route))
        page.get_by_role("button", name="Cancel job").click()
        dialog = page.get_by_role("dialog")
        button = dialog.get_by_role("button", name="Cancel job")
        button.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.activeElement.tagName !== 'BUTTON'")
        assert waiting
        waiting[0].fulfill(status=409, json=REFUSAL, content_type="application/problem+json")
        dialog.get_by_text("Not now.").wait_for()
        assert button.evaluate("button => document.activeElement === button")
