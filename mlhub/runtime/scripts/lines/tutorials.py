# SPDX-License-Identifier: Apache-2.0
"""Reads metrics from lines as people write them: "Epoch 3/20, Loss: 0.71", and the bars of tqdm with values in them.

A line counts when it names an epoch or a step next to a value, or when it has nothing but values, as "val Loss: 0.3
Acc: 0.9". Values are known by their names (loss, accuracy ...), since most numbers in a sentence are no metrics. The
step is the one that is named, or the place in all epochs so far: "Epoch [2/5], Step [100/600]" is 700, "Train Epoch: 2
[640/60000 (1%)]" is 60640; where only epochs are named it is the epoch. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from mlhub.runtime.scripts.lines.epochs import EpochProgress
from mlhub.runtime.scripts.lines.frameworks import PrintedPoint
from mlhub.wire.report import MAX_STEP

POINTS_PER_BAR = 50  # tqdm draws a bar again with every step
TRAINING = {"train", "training"}  # which a metric is of without saying so
PLACES = {"epoch", "step", "global_step", "iteration", "iter", "batch"}  # which are no metrics
_INVISIBLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x08")
_WORD = (
    r"loss|acc(?:uracy)?(?:@\d+)?|top-?[15]|err(?:or)?|ppl|perplexity|f1(?:[ _-]score)?|auc|auroc|mae|mse|rmse|mape"
    r"|r2|bleu|wer|cer|m?iou|dice|psnr|ssim|fid|map|precision|recall|reward|return|score|nll|elbo|bpc|bpb|lr"
    r"|learning[ _]rate"
)
_OF = r"train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev"
_KIND = r"avg|average|mean|running|total|best|final|current|batch|epoch|macro|micro|weighted"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan"
_END = r"(?=[\s,;|()\[\]%]|\.(?:\s|$)|$)"
_VALUE = re.compile(
    rf"(?<![\w.@/-])((?:(?:{_OF}|{_KIND})[. _/-]{{1,3}}){{0,4}}(?:{_WORD}))"
    rf"(\s*[:=]\s*|\s+)({_NUMBER})(?:/(\d+))?{_END}(?:\s*%)?(?:\s*\([^()]*\))?",
    re.IGNORECASE,
)
_PAIR = re.compile(rf"(?<![\w./-])([A-Za-z_][\w./-]{{0,200}})=({_NUMBER})%?{_END}")
_PART = re.compile(rf"\b({_OF})\b(?:[ _-](?:set|phase|error|results?|metrics|data))*", re.IGNORECASE)
_EPOCH = re.compile(r"\bepochs?\b[\s:#=\[(]{0,4}(\d{1,9})\b(?!\.\d)(?:\s*(?:/|of)\s*(\d{1,9}))?\]?", re.IGNORECASE)
_STEP = re.compile(
    r"\b(?:global[ _])?(?:steps?|iter(?:ation)?s?|batch)\b[\s:#=\[(]{0,4}(\d{1,15})\b(?!\.\d)"
    r"(?:\s*(?:/|of)\s*(\d{1,15}))?",
    re.IGNORECASE,
)
_PROGRESS = re.compile(r"[\[(]\s*(\d{1,15})\s*/\s*(\d{1,15})\b[^\])]*[\])]")
_EPOCH_AND_BATCH = re.compile(r"^\[\s*(\d{1,9})\s*,\s*(\d{1,15})\s*\]")
_BAR = re.compile(r"^(.*?)\d{1,3}%\|[^|]*\|\s*(\d{1,15})/(\d{1,15})\s+\[(.*)\]?$")
_SENTENCE = re.compile(rf"\baccuracy of the (?:network|model)\b[^:]*:\s*({_NUMBER})\s*%", re.IGNORECASE)
_CALL = re.compile(r"\w\(\w+=")  # Namespace(lr=0.1)
_LOGGER = re.compile(r"\bv_num[=:]")  # in the bars of Lightning: the files of that logger have the same values exactly
_FILLING = re.compile(r"[\s,;|:.*=\-–—>()\[\]]*")


@dataclass
class TutorialLines:
    """Remembers where training is, since lines with values often do not say it. progress: is kept up to date."""

    progress: EpochProgress = field(default_factory=EpochProgress)
    _epoch: int | None = None
    _n_epochs: int = 0  # as a line has it; 0: none did
    _place: int | None = None  # in the epoch
    _behind: int = 0  # of the epochs before it
    _length: int = 0  # of the epoch; 0: not known
    _step: int | None = None
    _has_logger: bool = False
    _n_seen: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def read(self, line: str) -> PrintedPoint | None:
        """The step and the values of a line; None for a line without metrics."""
        text = _INVISIBLE.sub("", line).strip()
        self._has_logger = self._has_logger or _LOGGER.search(text) is not None
        if self._has_logger or not text or text.startswith("{") or _CALL.search(text):
            return None
        if (bar := _BAR.match(text)) is not None:
            return self._bar(bar[1], int(bar[2]), int(bar[3]), bar[4])
        values, rest = _values(text)
        if (sentence := _SENTENCE.search(text)) is not None:
            return self._point({"test_accuracy" if "test" in text.lower() else "accuracy": float(sentence[1])})
        is_placed = self._find_place(text)
        if not values:
            return None
        is_alone = " = " not in text and _FILLING.fullmatch(_PROGRESS.sub("", _PART.sub("", rest))) is not None
        if not is_placed and not is_alone:  # "eval_loss = 0.5" is a row of a table
            return None
        return self._point(values)

    def _find_place(self, text: str) -> bool:
        """Whether the line says where training is. An epoch that stands alone counts for the lines after it."""
        both = _EPOCH_AND_BATCH.match(text)
        epoch = both or _EPOCH.search(text)
        if epoch is not None:
            self._enter(int(epoch[1]), total=0 if both is not None else int(epoch[2] or 0))
        if both is not None:
            self._move(int(both[2]), 0)
            return True
        without_epoch = _EPOCH.sub(" ", text)
        step = _STEP.search(without_epoch)
        if step is not None and (step[2] is not None or epoch is not None) and not step[0].lower().startswith("global"):
            self._move(int(step[1]), int(step[2] or 0))
        elif step is not None:
            self._step = int(step[1])
        elif (progress := _PROGRESS.search(_VALUE.sub(" ", without_epoch))) is not None:
            self._move(int(progress[1]), int(progress[2]))
            return epoch is not None  # alone it may be of anything
        elif epoch is not None and self._place is None:
            self._step = int(epoch[1])
        return epoch is not None or step is not None

    def _enter(self, epoch: int, *, total: int = 0) -> None:
        if self._epoch is not None and epoch != self._epoch:
            self._next()
        self._epoch, self._n_epochs = epoch, total or self._n_epochs
        self.progress.enter(epoch, part=0.0, total=self._n_epochs)

    def _move(self, place: int, length: int) -> None:
        """length: of the epoch; 0 where the line does not say it."""
        if length == 0 and self._step is not None and place > self._step:
            self._behind = 0  # it counts through all epochs by itself
        if self._place is not None and place < self._place:  # an epoch that nothing has named
            self._next()
        self._place, self._length = place, length
        self._step = self._behind + place

    def _next(self) -> None:
        if self._place is not None:
            self._behind += self._length or self._place
            self._place = 0

    def _bar(self, description: str, place: int, length: int, behind: str) -> PrintedPoint | None:
        """A bar with values, at its end and some times before."""
        found = _values(f"{description}, {behind.rpartition('it/s')[2].rpartition('s/it')[2]}".rstrip("]"))[0]
        if not found or place == 0:
            return None
        is_next = self._place is None or place < self._place or self._epoch_of(description) not in (None, self._epoch)
        if not is_next and place != length and place - (self._place or 0) < length / POINTS_PER_BAR:
            return None
        if (epoch := _EPOCH.search(description)) is not None:
            self._enter(int(epoch[1]), total=int(epoch[2] or 0))
        self._move(place, length)
        return self._point(found)

    @staticmethod
    def _epoch_of(description: str) -> int | None:
        epoch = _EPOCH.search(description)
        return None if epoch is None else int(epoch[1])

    def _point(self, values: dict[str, float]) -> PrintedPoint | None:
        if self._epoch is not None:  # values without a place are those of an epoch's end
            place, length = self._place, self._length
            part = 1.0 if place is None else place / length if length else 0.0
            self.progress.enter(self._epoch, part=part, total=self._n_epochs)
        if self._step is not None:
            return (self._step, values) if self._step <= MAX_STEP else None
        for name in values:
            self._n_seen[name] += 1
        return max(self._n_seen[name] for name in values), values


def _values(text: str) -> tuple[dict[str, float], str]:
    """Values by name, and the text without them. "Test set: Loss: 0.3" is a test_loss."""
    part = _PART.match(text)
    of = f"{part[1].lower()}_" if part is not None and part[1].lower() not in TRAINING else ""
    values = dict[str, float]()
    for match in _VALUE.finditer(text):
        words = [word for word in re.split(r"[. _/-]+", match[1].lower()) if word not in TRAINING]
        name = "_".join(words).replace("@", "_")
        if not re.match(rf"(?:{_OF})\b", match[1], re.IGNORECASE) and not _PART.match(name.replace("_", " ")):
            name = of + name
        number = float(match[3])
        if match[4] is not None:
            if float(match[4]) == 0:
                continue
            number /= float(match[4])
        values.setdefault(name, number)
    rest = _VALUE.sub(" ", text)
    values |= {match[1]: float(match[2]) for match in _PAIR.finditer(rest) if match[1].lower() not in PLACES}
    return values, rest
