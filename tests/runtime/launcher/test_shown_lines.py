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


def test_colours_and_moves_of_the_cursor_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_bytes(
        b"  7%|  | 5/9\r   \r\x1b[A{'eval_loss': '0.69'}\n\x1b[1;31mred\x1b[0m [A] plain\n"
        b"\x1b]0;a title\x07text\n\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\\n\x1b[?25lhun\x1b[1mter2\x1b[0m\n\x1b\n"
    )
    lines, _ = Tail(log, LOG, SecretMask(["hunter2"])).batch(is_final=False)
    assert lines == ["{'eval_loss': '0.69'}", "red [A] plain", "text", "link", "***", ""]
