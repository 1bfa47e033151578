# SPDX-License-Identifier: Apache-2.0
"""Renders the chart for each rendered/*.values.yaml, so that changes can be read and tests need no Helm.

    python -m deploy.helm.render     needs `helm` on the PATH, or the Python package helm-python-sdk
The first line of each file is a digest of what it was made from; a test recomputes it. The rules of access that the
chart grants are written from mlhub/backends/kubernetes/client/access.py first.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from mlhub.backends.kubernetes.client.access import RULES

FOLDER = Path(__file__).parent
CHART, RENDERED = FOLDER / "mlhub", FOLDER / "rendered"
ACCESS_RULES = CHART / "files" / "access-rules.yaml"
RELEASE = NAMESPACE = "mlhub"


def access_rules() -> str:
    """The backend's list of rights as the chart's templates read it."""
    listed = [
        {"group": rule.group, "resource": rule.resource, "verbs": list(rule.verbs), "why": rule.why} for rule in RULES
    ]
    head = "# Written by deploy/helm/render.py from mlhub/backends/kubernetes/client/access.py.\n"
    return head + yaml.safe_dump(listed, sort_keys=False, default_flow_style=None, width=120)


def digest(values: Path) -> str:
    """Of the chart's files and of the values."""
    found = hashlib.sha256()
    for path in [*sorted(p for p in CHART.rglob("*") if p.is_file()), values]:
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def render(values: Path) -> str:
    """Raises RuntimeError when the chart is refused, or there is nothing to render it with."""
    if shutil.which("helm"):
        subprocess.run(
            ["helm", "lint", "--strict", str(CHART), "-f", str(values)], check=True, stdout=subprocess.DEVNULL
        )
        argv = ["helm", "template", RELEASE, str(CHART), "-n", NAMESPACE, "-f", str(values)]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    try:
        import helm_python
    except ImportError as error:
        raise RuntimeError(
            "Put `helm` on the PATH, or: pip install helm-python-sdk (in another environment)."
        ) from error
    given = yaml.safe_load(values.read_text())
    told = helm_python.lint(str(CHART), given, strict=True, namespace=NAMESPACE)
    if told.get("errors") or any(m.get("severity") in ("error", "warning") for m in told.get("messages", [])):
        raise RuntimeError(f"helm lint: {told}")
    with helm_python.Config(namespace=NAMESPACE) as config, helm_python.Chart.load(str(CHART)) as chart:
        found = config.render(chart, given, name=RELEASE, namespace=NAMESPACE)
    objects = {name: text.strip() for name, text in found.items() if text.strip() and not name.endswith("NOTES.txt")}
    return "\n".join(f"---\n# Source: {name}\n{text}" for name, text in sorted(objects.items())) + "\n"


def main() -> int:
    ACCESS_RULES.write_text(access_rules())
    for values in sorted(RENDERED.glob("*.values.yaml")):
        objects = [o for o in yaml.safe_load_all(render(values)) if o]
        objects.sort(key=lambda o: (o["kind"], o["metadata"]["name"]))
        text = yaml.safe_dump_all(objects, sort_keys=True, width=120)
        target = RENDERED / values.name.replace(".values", "")
        target.write_text(f"# {digest(values)}\n{text}")
        print(f"{target.relative_to(FOLDER)}: {len(objects)} objects")
    return 0


if __name__ == "__main__":
    sys.exit(main())
