# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are learned from, and how: sound defaults, and what a person has chosen instead.

Options of an upload: target (a name), ignore (names), types (name -> number, category, date, text or split), missing
(name -> indicator, fill or drop) and numbers (name -> point or comma). A column with a type is used, even where it
would be left out by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlhub.runtime.data.given_split import SPLIT, holds_out
from mlhub.runtime.data.readers.tables.number_readings import format_sentences, readings_of
from mlhub.runtime.data.readers.tables.profiles import MAX_CATEGORIES, ColumnProfile
from mlhub.runtime.data.readers.tables.values import formats_of, with_format
from mlhub.wire.formats import COLUMN_TYPES, MISSING_TREATMENTS

MAX_PARTS = 100  # spellings of parts in a column
USUAL_TARGETS = ("target", "label", "class", "y")
SPLIT_REMEDY = "Give a column with train, validation or test in each row, or use this one otherwise."
LEFT_OUT = {
    "identifier": "Left out: nearly every value is different, as in an identifier.",
    "constant": "Left out: it has the same value in every row.",
    "empty": "Left out: it has no values.",
    "other": "Left out: lists, bytes and the like cannot be learned from in a table.",
}
OF_TRAINING = "of the training rows"
FILLED_WITH = {
    "number": f"the mean {OF_TRAINING}",
    "date": f"the mean {OF_TRAINING}",
    "category": f"the most frequent category {OF_TRAINING}",
    "text": "a text without words",
}


@dataclass
class ColumnChoice:
    """features: specifications (encoding.py) without what is measured. treatments: a sentence for each column.

    split: the column that says which rows are held out; None: the dataset gives no split.
    problems: {column, message, remedy}, all of them; each is repaired by another choice, not by another file.
    """

    target: str | None = None
    target_type: str | None = None  # number, category; None: what its values suggest
    split: str | None = None
    features: list[dict[str, Any]] = field(default_factory=list)
    treatments: dict[str, str] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)

    def add_problem(self, column: str, message: str, remedy: str) -> None:
        self.problems.append({"column": column, "message": message, "remedy": remedy})

    def role(self, name: str) -> str:
        """target, split, feature or ignored."""
        if name == self.target:
            return "target"
        if name == self.split:
            return "split"
        return "feature" if any(spec["name"] == name for spec in self.features) else "ignored"


def choose_columns(profiles: Sequence[ColumnProfile], options: Mapping[str, Any]) -> ColumnChoice:
    """Applies the options to what the columns hold; what is not chosen follows from their types."""
    choice = ColumnChoice()
    known = {profile.name: profile for profile in profiles}
    ignored, types = set(options.get("ignore") or ()), dict(options.get("types") or {})
    numbers, missing = (options.get(name) or {} for name in ("numbers", "missing"))
    _check_names(choice, known, {"ignore": ignored, "types": types, "missing": missing, "numbers": numbers})
    _choose_target(choice, known, options.get("target"), types)
    if choice.target in ignored:
        choice.add_problem(str(choice.target), "The target is among the ignored columns.", "Choose one of the two.")
    _choose_split(choice, [profile for profile in profiles if profile.name not in {*ignored, choice.target}], types)
    for profile in profiles:
        if profile.name not in ignored:
            _check_number_format(choice, profile, types.get(profile.name), is_chosen=profile.name in numbers)
        if profile.name in (choice.target, choice.split):
            continue
        if profile.name in ignored:
            choice.treatments[profile.name] = "Left out, as chosen."
        else:
            treatment = missing.get(profile.name, MISSING_TREATMENTS[0])
            _choose_feature(choice, profile, types.get(profile.name), treatment)
    if not choice.features and not any(profile.is_format_open for profile in profiles):
        choice.add_problem("", "No column is left to learn from.", "Use at least one column besides the target.")
    return choice


def _check_names(choice: ColumnChoice, known: Mapping[str, ColumnProfile], asked: Mapping[str, Any]) -> None:
    listed = ", ".join(list(known)[:30])
    for option, names in asked.items():
        for name in sorted(set(names) - known.keys()):
            choice.add_problem(name, f"There is no column {name!r} to apply {option} to.", f"There are: {listed}.")


def _check_number_format(choice: ColumnChoice, profile: ColumnProfile, asked: str | None, *, is_chosen: bool) -> None:
    """Asks which format it is where nothing shows it; names a chosen one that reads none of the values."""
    if asked not in (None, "number"):
        return
    if profile.is_format_open and profile.evidence is not None:
        readings = readings_of(profile.evidence.example)
        choice.add_problem(
            profile.name,
            f"The numbers of {profile.name} can be read in two ways: {readings['text']} is "
            f"{readings['point']:.15g} with a decimal point, {readings['comma']:.15g} with a decimal comma.",
            "Choose the number format of the column: point or comma.",
        )
    elif is_chosen and not profile.n_numeric:
        choice.add_problem(
            profile.name,
            f"The column {profile.name} holds no numbers with a decimal {profile.number_format}."
            if profile.number_format
            else f"The column {profile.name} holds no numbers.",
            "Choose another number format, or none.",
        )


def _choose_target(
    choice: ColumnChoice, known: Mapping[str, ColumnProfile], asked: str | None, types: Mapping[str, str]
) -> None:
    name = asked or next((name for name in known if name.lower() in USUAL_TARGETS), None)
    listed = ", ".join(list(known)[:30])
    if name is None:
        remedy = f"Name the target: one of {listed}. To predict on it only, say targets=none."
        choice.add_problem("", "It is not clear which column is to be predicted.", remedy)
        return
    if name not in known:
        choice.add_problem(name, f"There is no column {name!r}.", f"Name one of: {listed}.")
        return
    choice.target, choice.target_type = name, types.get(name)
    profile = known[name]
    if profile.raw in ("date", "other", "empty") or choice.target_type == "date" or not profile.n_values:
        what = {"other": "no plain value", "empty": "no value"}.get(profile.raw, "a date")
        choice.add_problem(name, f"The target {name} holds {what}.", "Choose a column of numbers or of categories.")
    if choice.target_type == "text":
        choice.add_problem(name, f"The target {name} cannot be a text.", "Take it as a category, or as numbers.")
    if choice.target_type == "split":
        choice.add_problem(name, f"The target {name} cannot be the split as well.", "Choose one of the two.")
    if choice.target_type == "number" and not profile.n_numeric:
        choice.add_problem(name, f"The target {name} holds words.", "Take it as a category.")
    found = format_sentences(profile) if choice.target_type in (None, "number") else []
    if profile.n_missing:
        rows = f"{profile.n_missing:,} {'row' if profile.n_missing == 1 else 'rows'}"
        found.insert(0, f"Left out: {rows} without it.")
    if found:
        choice.treatments[name] = " ".join(found)


def _choose_split(choice: ColumnChoice, others: Sequence[ColumnProfile], types: Mapping[str, str]) -> None:
    """others: columns that are neither the target nor ignored."""
    asked = [profile for profile in others if types.get(profile.name) == "split"]
    for profile in asked[1:]:
        message = f"{asked[0].name} and {profile.name} are both chosen as the split."
        choice.add_problem(profile.name, message, "Choose one column.")
    if asked:
        choice.split = asked[0].name
        fault = _fault_of_split(asked[0])
        if fault:
            choice.add_problem(asked[0].name, fault, SPLIT_REMEDY)
    else:
        usual = (p for p in others if p.name.strip().lower() == SPLIT and p.name not in types)
        choice.split = next((p.name for p in usual if not _fault_of_split(p)), None)
    if choice.split is None:
        return
    held_out, trained = (", ".join(_parts(others, choice.split, part)) for part in (True, False))
    choice.treatments[choice.split] = f"Held out of training: the rows with {held_out}. Trained on: {trained}."


def _parts(profiles: Sequence[ColumnProfile], name: str, part: bool) -> list[str]:
    profile = next(profile for profile in profiles if profile.name == name)
    return [word for word, _ in profile.top(MAX_PARTS) if holds_out(word) is part]


def _fault_of_split(profile: ColumnProfile) -> str | None:
    """Why the column gives no split; None if it does."""
    if profile.raw != "word":
        return f"The column {profile.name} holds no words that name a part."
    found = [word for word, _ in profile.top(MAX_PARTS)]
    unknown = [word for word in found if holds_out(word) is None]
    if unknown or profile.n_distinct != len(found):
        shown = ", ".join(repr(word[:50]) for word in unknown[:5]) or "many different words"
        return f"The column {profile.name} holds {shown}, which names no part."
    if profile.n_missing:
        return f"The column {profile.name} is empty in {profile.n_missing:,} of {profile.n_rows:,} rows."
    if len({holds_out(word) for word in found}) < 2:
        return f"The column {profile.name} holds {', '.join(found) or 'nothing'} only."
    return None


def _choose_feature(choice: ColumnChoice, profile: ColumnProfile, asked: str | None, treatment: str) -> None:
    found = asked or profile.type
    if found in LEFT_OUT:
        sentences = [LEFT_OUT[found], *_code_sentences(profile, asked), *format_sentences(profile)]
        choice.treatments[profile.name] = " ".join(sentences)
        return
    fault = _misfit(profile, found)
    if fault:
        others = [name for name in COLUMN_TYPES if name != found]
        choice.add_problem(profile.name, fault, f"Choose another of {', '.join(others)}, or ignore it.")
        return
    n_missing = profile.n_missing
    if found == "number" and profile.raw == "word":
        n_missing = profile.n_rows - profile.n_numeric  # what is no number stands for a missing value
    spec: dict[str, Any] = {"name": profile.name, "kind": found, "from": profile.raw}
    if found == "date" and profile.raw == "word":
        names = profile.date_formats
        spec |= {"format": names[0]} if len(names) == 1 else {"formats": list(names)}
    spec = with_format(spec, profile.number_format)
    if n_missing and treatment == "drop":
        spec["drops_rows"] = True
    spec["indicator"] = bool(n_missing) and treatment == "indicator"
    choice.features.append(spec)
    about_words = [] if asked == "category" else [*_code_sentences(profile, asked), *format_sentences(profile)]
    choice.treatments[profile.name] = " ".join([*_sentences(profile, spec, n_missing, treatment), *about_words])


def _code_sentences(profile: ColumnProfile, asked: str | None) -> list[str]:
    """Why a column that looks like numbers is none, or what it loses as one."""
    if not profile.code:
        return []
    if asked == "number":
        return [f"As numbers {profile.code} and {profile.code.lstrip('0') or '0'} are the same."]
    if profile.type == "number":
        return []
    return [f"Its values are codes, not numbers: {profile.code} has zeros in front."]


def _misfit(profile: ColumnProfile, asked: str) -> str | None:
    """Why the column cannot be taken as this type; None if it can."""
    if profile.raw in ("other", "empty") or not profile.n_values:
        return f"The column {profile.name} has no values that a model can take."
    if asked == "number" and not profile.n_numeric:
        return f"The column {profile.name} holds no numbers."
    if asked == "date" and profile.raw == "word" and not profile.date_formats:
        word = repr(profile.no_date[:50])
        return f"The column {profile.name} holds {word}, which no known format of dates reads together with the others."
    if asked == "text" and profile.raw != "word":
        return f"The column {profile.name} holds {profile.raw}s, not text."
    if asked == "date" and profile.raw == "number":
        return f"The column {profile.name} holds numbers, not dates."
    return None


def _sentences(profile: ColumnProfile, spec: Mapping[str, Any], n_missing: int, treatment: str) -> list[str]:
    found = []
    if spec["kind"] == "number":
        found.append("In standard units of the training rows.")
    elif spec["kind"] == "date":
        read = f", read as {', '.join(formats_of(spec))}" if formats_of(spec) else ""
        found.append(f"As days, with the time of the year and of the week{read}.")
        if profile.is_date_ambiguous:
            found.append("Day and month could be the other way round.")
    elif spec["kind"] == "text":
        found.append("As text: one input for each of the most frequent words of the training rows, weighted by tf-idf.")
    elif (profile.n_distinct or MAX_CATEGORIES + 1) > MAX_CATEGORIES:
        found.append(f"One input for each of the {MAX_CATEGORIES} most frequent categories, and one for all others.")
    else:
        found.append("One input for each category.")
    if spec["kind"] == "category" and profile.raw == "word" and profile.n_distinct == profile.n_values > 2:
        found.append("Every value is different: ignore the column if it is an identifier.")
    if n_missing:
        value = FILLED_WITH[str(spec["kind"])]
        rows = f"{n_missing:,} {'row' if n_missing == 1 else 'rows'}"
        found.append({
            "drop": f"Left out: the {rows} in which it is missing.",
            "fill": f"Missing in {rows}: filled with {value}.",
            "indicator": f"Missing in {rows}: marked by an input of its own"
            + (f", and filled with {value}." if spec["kind"] in ("number", "date") else "."),
        }[treatment])  # fmt: skip
    return found
