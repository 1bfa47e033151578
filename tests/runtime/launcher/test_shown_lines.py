# SPDX-License-Identifier: Apache-2.0
"""Lines of a log as they are sent."""

from __future__ import annotations

from pathlib import Path

from mlhub.runtime.launcher.shipping import Tail
from mlhub.wire.masking import SecretMask
from mlhub.wire.report import LOG


def test_a_line_that_was_drawn_over_is_sent_as_a_terminal_shows_it_and_masked(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_bytes(
        b"  0%|  | 0/2\r 50%|# | 1/2\r100%|##| 2/2\r\nplain\ttext\r\n\r   \r{'loss': 1}\nto\b\bken hun\bter2hunter2\n"
    )
    lines, end = Tail(log, LOG, SecretMask(["hunter2hunter2"])).batch(is_final=False)
    assert lines == ["100%|##| 2/2", "plain\ttext", "{'loss': 1}", "token ***"]
    assert end == log.stat().st_size
