# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in the English of messages: 1 worker, 2 workers."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def counted_words(n: int, plural: str) -> str:
    """As counted(), from the noun in the plural: 1 study, 2 studies, 1 logged model."""
    if n != 1:
        return f"{n:,} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural.removesuffix('s')}"


def counted_running(n: int, plural: str, n_running: int) -> str:
    """As counted_words(), with how many of them run now: 3 jobs (2 run now)."""
    running = f" ({n_running:,} {'runs' if n_running == 1 else 'run'} now)" if n_running else ""
    return counted_words(n, plural) + running


def with_article(noun: str) -> str:
    """A job, an upload: by the first letter, which suits the nouns of the platform."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def hours_text(hours: float) -> str:
    """GPU-hours as people read them."""
    return figure(hours)


def figure(value: float) -> str:
    """A number as people read it: 1,234,567.89, 10, 0.0042. Never 1e+06."""
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def too_many(n: int) -> str:
    """What is above a limit, in a sentence: 1 is too many, 2 are too many."""
    return f"{n:,} {'is' if n == 1 else 'are'} too many"


def of_them(n: int) -> str:
    """A part of what a sentence names, with its verb: 1 of them is, 2 of them are."""
    return f"{n:,} of them {'is' if n == 1 else 'are'}"
