# SPDX-License-Identifier: Apache-2.0
"""By what a webhook's deliveries are signed."""

from __future__ import annotations

from mlhub.webhooks.signing import headers_of


def test_deliveries_are_signed_as_the_standard_says() -> None:
    """The example of the specification, with a time of 2021."""
    headers = headers_of(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        '{"test": 2432232314}',
        secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        at_s=1614265330,
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-timestamp"] == "1614265330"
