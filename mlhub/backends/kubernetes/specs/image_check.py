# SPDX-License-Identifier: Apache-2.0
"""How a worker begins in an image that its job brought: only with the runtime of the platform's version. Pure."""

from __future__ import annotations

from mlhub._version import __version__
from mlhub.wire.exits import ExitCode

# it runs in the image, whatever is there: any Python, with or without MLHub's runtime
_PROGRAM = """
import os, sys
wanted, image, ended = sys.argv[1], sys.argv[2], int(sys.argv[3])
remedy = "Build it FROM mlhub-runtime:%s." % wanted
try:
    import importlib.util
    from mlhub._version import __version__ as found
    lacking = [name for name in ("mlhub.runtime", "torch") if importlib.util.find_spec(name) is None]
except ImportError as error:
    found, lacking = "", [str(error)]
if lacking:
    print("The image %s lacks MLHub's runtime (%s). %s" % (image, ", ".join(lacking), remedy))
    sys.exit(ended)
if found != wanted:
    print("The image %s has MLHub's runtime %s, and the platform is %s. %s" % (image, found, wanted, remedy))
    sys.exit(ended)
os.execv(sys.executable, [sys.executable, "-m", "mlhub.runtime"])
""".strip()


def command(image: str) -> list[str]:
    """Says in its last line what is wrong with the image, or becomes the main process of the pod."""
    return ["python", "-c", _PROGRAM, __version__, image, str(int(ExitCode.JOB_IMAGE))]
