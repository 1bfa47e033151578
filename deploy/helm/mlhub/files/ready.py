# SPDX-License-Identifier: Apache-2.0
"""Asks MLHub's web whether it is alive and ready, until a control loop has made a round; `helm test` runs this.

python ready.py http://mlhub-web.mlhub.svc:8000 [seconds]
"""

import json
import sys
import time
import urllib.error
import urllib.request


def body_of(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 (the chart gives the address)
        return json.load(answer)


def problem(base: str) -> str:
    """What is not as it should be; "" when all is well."""
    try:
        body_of(f"{base}/healthz")
        found = body_of(f"{base}/readyz")
    except urllib.error.HTTPError as error:
        return f"{error.url} answers {error.code}: {error.read()[:500]!r}"
    except (OSError, ValueError) as error:
        return f"{base} does not answer: {error}"
    if not found["database"] or not found["redis"]:
        return f"The web is cut off: {found}"
    age_s = found["rounds"]["finished_age_s"]
    return "" if age_s is not None and age_s < 120 else f"No control loop makes rounds: {found}"


def main() -> int:
    until = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 240)
    while (found := problem(sys.argv[1])) and time.monotonic() < until:
        time.sleep(3)
    print(found or "MLHub is ready.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
