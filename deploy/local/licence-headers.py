# SPDX-License-Identifier: Apache-2.0
"""Adds the licence's identifier to every source file that lacks it; running it again changes nothing.

    python deploy/local/licence-headers.py           adds
    python deploy/local/licence-headers.py --check   lists the files that lack it, and exits with 1 when there are any
Python files get it in the first line, or in the second below `#!`; TypeScript files in the first. Empty files,
migrations and generated files have none. tests/architecture/test_licence_headers.py uses the same rules.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IDENTIFIER = "SPDX-License-Identifier: Apache-2.0"
COMMENT = {".py": "#", ".ts": "//", ".tsx": "//"}
GENERATED = {"frontend/src/api/schema.d.ts"}


def covered_files() -> list[Path]:
    """The source files that must have the identifier, among them new ones that git does not know yet."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.ts", "*.tsx"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in sorted(set(listed)) if is_covered(ROOT / name)]


def is_covered(path: Path) -> bool:
    name = path.relative_to(ROOT)
    if not path.is_file() or "migrations" in name.parts or str(name) in GENERATED:
        return False
    return bool(path.read_text(encoding="utf-8").strip())


def has_header(text: str, suffix: str) -> bool:
    """Whether the identifier is the first line, or the second below an interpreter's name."""
    lines = text.splitlines()
    first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
    return first == [f"{COMMENT[suffix]} {IDENTIFIER}"]


def with_header(text: str, suffix: str) -> str:
    """The same text with the identifier."""
    if has_header(text, suffix):
        return text
    header = f"{COMMENT[suffix]} {IDENTIFIER}\n"
    if not text.startswith("#!"):
        return header + text
    interpreter, _, rest = text.partition("\n")
    return f"{interpreter}\n{header}{rest}"


def main() -> int:
    lacking = [p for p in covered_files() if not has_header(p.read_text(encoding="utf-8"), p.suffix)]
    if "--check" in sys.argv[1:]:
        print(*(p.relative_to(ROOT) for p in lacking), sep="\n")
        return 1 if lacking else 0
    for path in lacking:
        path.write_text(with_header(path.read_text(encoding="utf-8"), path.suffix), encoding="utf-8")
    print(f"{len(lacking)} files got the licence's identifier.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
