# SPDX-License-Identifier: Apache-2.0
"""Translations of what the platform says. English stands in the code; each other language has a gettext catalogue.

Most messages are finished texts with names and numbers in them when they come here: errors of the API, causes of
failure that were stored. The catalogue has their templates, such as "{count} jobs use it"; the one that a text was made
from is recognised by what stands between its placeholders. So code that raises an error need not know of languages.
"""

from __future__ import annotations

import gettext as library
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from string import Formatter

from django.utils.translation import get_language

LOCALES = Path(__file__).resolve().parents[2] / "locale"
DOMAIN = "mlhub"
SOURCE_LANGUAGE = "en"
_SEPARATOR = "\x04"  # between a context and its message, in the format of the catalogue
_WORD = re.compile(r"[^\W\d_]{4}")
_LONGEST = 4000  # longer texts hold output of programs: they stay as they are
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[A-Z])")
# placeholders that the platform's own words fill, never a name: those are messages themselves
OF_PART = "part"  # the context of parts of sentences, which are recognised nowhere else
_OWN_WORDS = frozenset({"error", "first_line", "message", "proof", "reason", "weakness", "what", "why"})


@dataclass(frozen=True)
class Template:
    """literals: what stands before, between and after the placeholders, whose names are in their order."""

    literals: tuple[str, ...]
    names: tuple[str, ...]
    translation: str

    @classmethod
    def of(cls, message: str, translation: str) -> Template:
        literals, names = [""], []
        for literal, name, _, _ in Formatter().parse(message):
            literals[-1] += literal
            if name is not None:
                names.append(name)
                literals.append("")
        return cls(tuple(literals), tuple(names), translation)

    @property
    def size(self) -> int:
        """How many characters it has besides its placeholders."""
        return sum(map(len, self.literals))

    def values_in(self, text: str) -> dict[str, str] | None:
        """What fills the placeholders in a text that was made from this template; None if it was not."""
        first, *others = self.literals
        if not text.startswith(first):
            return None
        found, begin = [], len(first)
        for at, literal in enumerate(others):
            is_last = at == len(others) - 1
            end = len(text) - len(literal) if is_last else text.find(literal, begin)
            if end < begin or (is_last and not text.endswith(literal)):
                return None
            found.append(text[begin:end])
            begin = end + len(literal)
        return dict(zip(self.names, found, strict=True))


class MessageCatalogue(library.GNUTranslations):
    """One language's messages."""

    _catalog: dict[str, str]  # the library's name for what it read

    def has(self, message: str) -> bool:
        return message in self._catalog

    @lru_cache(maxsize=4096)  # noqa: B019 (a catalogue lives as long as the process)
    def translation_of(self, text: str) -> str | None:
        """Of a finished text: as a message, as one made from a template, line by line, or sentence by sentence, where
        those that are not known stay as they are. None: nothing of it is known."""
        if not text or len(text) > _LONGEST:
            return None
        lines = text.split("\n")
        if len(lines) > 1:
            known = [self.translation_of(line) for line in lines]
            return "\n".join(there or line for there, line in zip(known, lines, strict=True)) if any(known) else None
        whole = self._whole(text)
        if whole is not None:
            return whole
        sentences = _SENTENCES.split(text)
        said = [self._whole(sentence) for sentence in sentences]
        if len(sentences) == 1 or not any(said):
            return None
        return "".join(there or f"{sentence} " for there, sentence in zip(said, sentences, strict=True)).rstrip()

    def _whole(self, text: str) -> str | None:
        message = text.replace("{", "{{").replace("}", "}}")  # messages are templates
        if self.has(message):
            return self.gettext(message).format()
        return self._from_template(text, "")

    def part(self, placeholder: str, words: str) -> str:
        """Of words that fill a placeholder: a known phrase, whose context is the placeholder's name; else as it is,
        such as a name that a person gave."""
        if self.has(placeholder + _SEPARATOR + words):
            return self.pgettext(placeholder, words)
        if placeholder in _OWN_WORDS:
            return self._own_words(words)
        return self._from_template(words, placeholder) or words

    def _own_words(self, words: str) -> str:
        """Of words of the platform within a sentence: a part of one, or a sentence."""
        if self.has(OF_PART + _SEPARATOR + words):
            return self.pgettext(OF_PART, words)
        return self._from_template(words, OF_PART) or self.translation_of(words) or words

    def _from_template(self, text: str, context: str) -> str | None:
        for template in self._templates(context):
            values = template.values_in(text)
            if values is not None and not any(map(_SENTENCES.search, values.values())):
                is_final = context not in ("", OF_PART)
                own = {name: value if is_final else self.part(name, value) for name, value in values.items()}
                return template.translation.format(**own)
        return None

    @cache  # noqa: B019 (a catalogue lives as long as the process)
    def _templates(self, context: str) -> tuple[Template, ...]:
        """Those that say most come first: a short one would recognise the texts of a longer one, too."""
        messages = ((*key.rpartition(_SEPARATOR)[::2], said) for key, said in self._catalog.items())
        found = [Template.of(key, without_formats(said)) for of, key, said in messages if of == context and "{" in key]
        known = [template for template in found if context or is_recognisable(template.literals)]
        return tuple(sorted(known, key=lambda template: -template.size))


def is_recognisable(literals: Iterable[str]) -> bool:
    """Whether a template with these has a word of its own: "{field} of {kind} is {value}." fits too much."""
    return any(map(_WORD.search, literals))


def in_readers_language(text: str) -> str:
    """A finished text in the language of the present request; as it is where that is English or knows no such text."""
    catalogue = _present()
    return text if catalogue is None else catalogue.translation_of(text) or text


def template_in_readers_language(template: str) -> str:
    """A message before its placeholders are filled; what it is filled with goes through `filling`."""
    catalogue = _present()
    return template if catalogue is None else catalogue.gettext(template)


def filling(facts: Mapping[str, object]) -> dict[str, object]:
    """Facts with which a template is filled: known phrases among them in the language of the present request."""
    catalogue = _present()
    if catalogue is None:
        return dict(facts)
    return {name: catalogue.part(name, value) if isinstance(value, str) else value for name, value in facts.items()}


def is_translated() -> bool:
    """Whether the present request asks for another language than English."""
    return _present() is not None


def _present() -> MessageCatalogue | None:
    return catalogue_of(get_language() or SOURCE_LANGUAGE)


@cache
def catalogue_of(language: str) -> MessageCatalogue | None:
    """None for English, and for a language without a catalogue."""
    tag, _, script = language.partition("-")
    name = f"{tag}_{script.capitalize()}" if script else tag
    path = LOCALES / name / "LC_MESSAGES" / f"{DOMAIN}.mo"
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return MessageCatalogue(file)


def without_formats(message: str) -> str:
    """Placeholders by name alone: what fills them is text already."""
    return re.sub(r"(?<!\{)\{(\w+):[^}]*\}(?!\})", r"{\1}", message)
