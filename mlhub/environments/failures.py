# SPDX-License-Identifier: Apache-2.0
"""Why a build failed: the line of the installer's log that explains it, with a code and a remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_MESSAGE = 1500  # characters
VERBOSE = "DEBUG "  # what uv writes before a line about the source that it builds, or of that source's own code
SOURCE = re.compile(rf"^{VERBOSE}(?:Preparing metadata for|Building): (\S+)", re.MULTILINE)


NO_WHEEL = "no_wheel"
OUT_OF_DISK = "out_of_disk"
STOPPED = "stopped"  # the code of a build that a person ended


class BuildStoppedError(Exception):
    """The build is not wanted any more: a person stopped it, or its organisation is gone."""


class BuildError(Exception):
    """The environment cannot be built as it is required."""

    def __init__(self, message: str, *, code: str, remedy: str) -> None:
        super().__init__(message)
        self.message, self.code, self.remedy = message, code, remedy

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "field": "file", "message": self.message, "remedy": self.remedy}


@dataclass(frozen=True)
class KnownFailure:
    """pattern: what the log has in that case; the first one that is found counts."""

    code: str
    pattern: re.Pattern[str]
    remedy: str


TOO_LARGE_A_PACKAGE = "Require a smaller package; MLHUB_MAX_ENVIRONMENT_BYTES is the limit."
KNOWN = (
    KnownFailure(
        OUT_OF_DISK,
        re.compile(r"No space left on device|Disk quota exceeded|os error 28|os error 122"),
        "Require less; an administrator must make room on the disk that builds environments.",
    ),
    KnownFailure(
        "package_too_large",
        re.compile(r"File too large|os error 27"),
        TOO_LARGE_A_PACKAGE,
    ),
    KnownFailure(
        "host_refused",
        re.compile(r"^The sandbox refused a connection:"),
        "An administrator adds the host to MLHUB_PACKAGE_HOSTS, where pages of the package index link files at it.",
    ),
    KnownFailure(
        "index_unreachable",
        re.compile(
            r"(?i)a connection failed:|error sending request|failed to fetch|connection refused|dns error|timed out"
            r"|client error"
        ),
        "Upload it again later; an administrator can set MLHUB_PACKAGE_INDEX_URL or MLHUB_WHEELHOUSE.",
    ),
    KnownFailure(
        "source_build_failed",
        re.compile(r"Failed to (build|download and build) `|The build backend returned an error"),
        "Require a version that has a wheel for this Python and platform, or one that can be built from its source.",
    ),
    KnownFailure(
        NO_WHEEL,
        re.compile(r"no usable wheels|building source distributions is disabled|no wheels with a matching|--no-build"),
        "Require a version that has a wheel for this Python and platform.",
    ),
    KnownFailure(
        "package_not_found",
        re.compile(r"was not found in the (package registry|provided package locations)|there (is|are) no versions?"),
        "Correct the name and the version; the package must be in the platform's index or wheelhouse.",
    ),
    KnownFailure(
        "conflict",
        re.compile(r"requirements are unsatisfiable|cannot be used"),
        "Loosen one of these versions. The platform's own packages stay as they are, unless you pin one with ==.",
    ),
)  # fmt: skip
OTHER = "Correct the requirements and upload the code again."


def failure_in(log: str, *, exit_code: int) -> BuildError:
    """The error of an installer that ended with this code, explained by its log."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith(VERBOSE)]
    for known in KNOWN:
        found = next((i for i, line in enumerate(lines) if known.pattern.search(line)), None)
        if found is not None:
            return _error(known.code, _explanation(lines, found), known.remedy)
    last = lines[-1] if lines else f"The installer ended with status {exit_code}."
    return _error("environment_failed", last, OTHER)


def _explanation(lines: list[str], found: int) -> str:
    """The line, and those before it that its "And because" continues."""
    start = found
    while start > 0 and lines[start].startswith("And "):
        start -= 1
    return " ".join(lines[start : found + 1]).removeprefix("cause: ").removeprefix("error: ")


def too_slow(limit_s: float, log: str) -> BuildError:
    lines = [line.removeprefix(VERBOSE).strip() for line in log.splitlines()]
    last = next((line for line in reversed(lines) if line), "nothing")
    sources = SOURCE.findall(log)
    return _error(
        "too_slow",
        f"The build took longer than {limit_s:,.0f} s, the last source in it was {sources[-1]}. "
        f"The last line of its log: {last}"
        if sources
        else f"The build took longer than {limit_s:,.0f} s. The last line of its log: {last}",
        "Require fewer or smaller packages; MLHUB_ENVIRONMENT_TIMEOUT_S is the limit.",
    )


def no_room() -> BuildError:
    return _error(OUT_OF_DISK, "The disk that builds environments is full.", KNOWN[0].remedy)


def no_disk(problem: str) -> BuildError:
    """problem: of the disk that builds environments, such as "Disk quota exceeded"."""
    return _error(OUT_OF_DISK, f"{problem}.", "An administrator must make room on the disk that builds environments.")


def too_many_files(limit: int) -> BuildError:
    return _error("too_large", f"The packages have more than {limit:,} files.", "Require fewer packages.")


def over_a_limit(proof: str) -> BuildError:
    return _error(
        "over_a_limit",
        f"The sandbox of the build ended it. {proof}",
        "Require fewer or smaller packages; if that does not help, ask an administrator to read the worker's log.",
    )


def too_large(size_bytes: int, limit_bytes: int) -> BuildError:
    return _error(
        "too_large",
        f"The packages take {size_bytes:,} bytes; {limit_bytes:,} are allowed.",
        "Require fewer or smaller packages; MLHUB_MAX_ENVIRONMENT_BYTES is the limit.",
    )


def file_too_large(limit_bytes: int) -> BuildError:
    return _error(
        "package_too_large",
        f"A package has a file of more than {limit_bytes:,} bytes, which packages may take in all.",
        TOO_LARGE_A_PACKAGE,
    )


def wrong_torch_build(name: str, version: str, torch: str, *, build: str) -> BuildError:
    return _error(
        "wrong_torch_build",
        f"{name} {version} is compiled for another build of torch than the platform's {torch}, which cannot load it.",
        f"An administrator sets UV_TORCH_BACKEND={build} for the platform, or puts {name} for {build} into"
        f" MLHUB_WHEELHOUSE; or require no {name}.",
    )


def stopped_by(username: str) -> BuildError:
    return BuildError(
        f"The build of its packages was stopped by {username}.",
        code=STOPPED,
        remedy="Upload the code or submit the job again: the packages are then built anew.",
    )


def given_up(n_tries: int, problem: str) -> BuildError:
    return _error(
        "environment_failed",
        f"MLHub could not build this environment: {n_tries} tries broke off. {problem}".strip(),
        "Upload the code again; if that does not help, ask an administrator to read the worker's log.",
    )


def _error(code: str, message: str, remedy: str) -> BuildError:
    return BuildError(f"The environment could not be built: {message}"[:MAX_MESSAGE], code=code, remedy=remedy)
