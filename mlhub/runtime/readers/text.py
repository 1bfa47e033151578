"""Plain text, for language models over bytes: each example is a window, its target the same window one byte on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.readers.examples import Examples, Found

CONTEXT_LENGTH = 64
VOCABULARY_SIZE = 256
MAX_BYTES = 2**31


class TextReader:
    def inspect(self, path: Path, options: Mapping[str, Any]) -> Found:  # noqa: ARG002 (the protocol's signature)
        if path.stat().st_size > MAX_BYTES:
            raise BadInputError(
                f"The text has more than {MAX_BYTES:,} bytes.", field="file", remedy="Split it into several datasets."
            )
        content = path.read_bytes()
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise BadInputError(
                f"The text is not UTF-8: {error.reason} at byte {error.start:,}.",
                field="file",
                remedy="Save it as UTF-8.",
            ) from error
        n_examples = (len(content) - 1) // CONTEXT_LENGTH
        if n_examples < 2:
            raise BadInputError(
                f"The text has {len(content)} bytes.",
                field="file",
                remedy=f"Give at least {2 * CONTEXT_LENGTH + 1} bytes.",
            )
        lines = [line for line in text[:20_000].splitlines() if line.strip()]
        schema = {
            "task": "language_modelling",
            "n_examples": n_examples,
            "input_shape": [CONTEXT_LENGTH],
            "context_length": CONTEXT_LENGTH,
            "vocabulary_size": VOCABULARY_SIZE,
            "n_bytes": len(content),
            "n_lines": text.count("\n") + 1,
        }
        return Found(schema, {"kind": "text", "lines": [{"text": line[:300]} for line in lines[:12]]})

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:
        content = np.frombuffer(path.read_bytes(), dtype=np.uint8).astype(np.int64)
        n, length = schema["n_examples"], schema["context_length"]
        used = content[: n * length + 1]
        return Examples(used[:-1].reshape(n, length), used[1:].reshape(n, length))


READER = TextReader()
