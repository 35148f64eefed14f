"""Names and values of metrics as programs print them: `loss=0.1`, `val acc: 93.1%`, `"f1": 0.5`.

A line counts only if one of its names ends in a word for a metric, such as `loss` or `accuracy`. The other named
numbers of the line are then metrics too. A configuration such as `lr=0.1 batch_size=32` has no such word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?i:nan|inf(?:inity)?)\b)"
# Not a time, a date, a version, a fraction, a range, a grouped number, or a number with a unit.
_UNITS = r"(?:[kKMGT]?i?B|[mun]?s|secs?|seconds|minutes|min|h|dB|Hz|fps|packets?|bytes)"
_END = rf"(?![\w/]|-\w|[.,]\d|:\s*[-+.\d]|\.[.\w]|[ ]?{_UNITS}\b)"
VALUE = rf"(?:(?:tensor|array|np\.float\d+)\()?['\"]?({NUMBER}){_END}"

# Words for metrics, at the end of a name. The first line also counts with integers.
_SURE = "loss|losses|logloss|perplexity|ppl"
_RATES = (
    "acc|acc[@_]?[15]|accuracy|auc|auroc|auprc|aucpr|f1|f[-_]?measure|precision|recall|sensitivity|specificity|iou|miou|"
    "dice|map|map[@_]?(?:50|75)|ndcg|mrr|hit[@_]?\\d+|bleu\\d?|rouge\\w*|meteor|wer|cer|mcc|kappa|top[-_@]?\\d"
)
_ERRORS = (
    "nll|elbo|bce|xent|crossentropy|cross-entropy|mse|rmse|mae|mape|smape|rmsle|msle|r2|psnr|ssim|lpips|fid|inertia|"
    "likelihood|pseudo-likelihood|reward"
)
_CHINESE = "损失|损失值|准确率|精确率|召回率|误差"
_WORD = re.compile(rf"(?:.*(?:loss|accuracy)|{_SURE}|{_RATES}|{_ERRORS}|{_CHINESE})", re.IGNORECASE)
_PERCENT = re.compile(rf"(?:.*accuracy|{_RATES})", re.IGNORECASE)
_INTEGERS = re.compile(rf"(?:.*loss|{_SURE}|.*accuracy|acc|acc[15]|top[-_@]?\d|{_CHINESE})", re.IGNORECASE)
# Words that name a metric only after a word such as `val`, or in a line with a step.
_WEAK = re.compile(r"score|error|err|cost|objective|obj", re.IGNORECASE)
_QUALIFIED = re.compile(
    r"train(?:ing)?|val(?:id(?:ation)?)?|test|eval|f1|r2|auc|acc|accuracy|cv|bleu|mean|avg|average|oob|macro|micro|dev",
    re.IGNORECASE,
)
# A name with one of these words is a setting.
_SETTING = re.compile(
    r"(?:^|[_.\s-])(?:target|threshold|thresh|desired|goal|packet|frame|self|weights?|scale|coeff?|coef|factor|fn|type|"
    r"function|lambda|tol|patience|limit|interval|freq|every|smoothing|clip|args?|config|cfg|params?)(?:$|[_.\s-])",
    re.IGNORECASE,
)
_MODIFIERS = frozenset(
    (
        "train training val valid validation test testing eval evaluation avg avg. average mean total running smoothed "
        "final best current overall macro micro weighted balanced batch epoch ewa lm policy value actor critic entropy "
        "generator discriminator reconstruction contrastive grad gradient learning global dual max dev log packet loss "
        "top-1 top-5 kl insertion"
    ).split()
)
# A learning rate is the same with one of these words.
_PERIODS, _RATE = frozenset("epoch batch current".split()), re.compile(r"lr|learning[ _-]rate", re.IGNORECASE)
_WORD_NAME = r"[^\W\d][\w./+-]*(?:@[\w.]+(?::0?\.\d+)?)?(?:\([\w.%/]{0,20}\))?"
# Not the end of an option, a path, a query or a longer word.
_NAME_END = re.compile(rf"(?<![\w./?&$@\\%+-])(['\"]?)({_WORD_NAME})\1$")
_SIGN = re.compile(rf"[=:：][ \t]{{0,4}}{VALUE}")
# `loss 4.2` between separators.
_SPACED = re.compile(rf"\s*((?:[^\W\d][\w.-]* ){{0,3}}{_WORD_NAME})\s+{VALUE}%?\.?(?:\s*\(\s*{NUMBER}\s*\))?\s*")
_SEPARATORS = re.compile(r",\s|\t|\||;")
# Numbers that count the steps.
STEPS = re.compile(
    r"(?:num_|global_|max_|total_)?(?:epochs?|steps?|iter|iters|iterations?|it|batch|batches|episode|update|timesteps?|ep)",
    re.IGNORECASE,
)


_LONGEST_NAME, _MOST_BLANKS, _MOST_WORDS = 200, 3, 3
_CONTROL = re.compile(r"[\x00\b\x1b]")
_CONTROLS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\b\x00]+")


class Pair(NamedTuple):
    """A named number, as a value and as text."""

    name: str
    value: float
    text: str


def pairs(text: str) -> list[Pair]:
    """Return the named numbers of a line, such as `loss=0.1`."""
    found: list[Pair] = []
    calls = _calls(text) if "(" in text else []
    begin = 0
    for match in _SIGN.finditer(text):
        name = _name_before(text[max(begin, match.start() - _LONGEST_NAME) : match.start()])
        begin = match.end()
        if name and not any(start < match.start() < end for start, end in calls):
            found.append(Pair(name, float(match[1]), match[1]))
    return found


def _name_before(text: str) -> str:
    """Return the name at the end of a text, with words such as `val` before it; empty if there is none."""
    stripped = text.rstrip(" \t")
    head, token = stripped, ""
    if len(text) - len(stripped) <= _MOST_BLANKS and stripped:
        token = stripped.split()[-1]
        head = stripped[: -len(token)]
    match = _NAME_END.search(token)
    if not match:
        return ""
    name = match[2]
    if match.start() == 0 and not match[1]:
        for word in reversed(head.split(" ")[:-1][-_MOST_WORDS:]):
            if word.lower() not in _MODIFIERS or (word.lower() in _PERIODS and _RATE.fullmatch(name)):
                break
            name = f"{word} {name}"
    return name


def _calls(text: str) -> list[tuple[int, int]]:
    """Return the positions of the arguments of calls, such as `Config(loss=0.5)`."""
    calls, opened = [], []
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            calls.append((opened.pop(), match.start()))
    calls += [(start, len(text)) for start in opened]
    return [(start, end) for start, end in calls if start and (text[start - 1].isalnum() or text[start - 1] in "_]")]


def spaced_pairs(text: str) -> Iterator[Pair]:
    """Yield the named numbers that are written without a sign, as in `loss 4.2, time 3`."""
    for part in _SEPARATORS.split(text):
        if match := _SPACED.fullmatch(part):
            yield Pair(match[1], float(match[2]), match[2])


class _Kind(NamedTuple):
    """The numbers that a name of a metric may have. `is_weak`: only in a line with a step."""

    is_weak: bool
    is_percent: bool
    has_integers: bool


def is_metric(pair: Pair, *, has_step: bool) -> bool:
    """Return whether a named number is a metric by its name. `has_step`: its line has a step."""
    kind = _kind(pair.name)
    if kind is None or (kind.is_weak and not has_step) or (kind.is_percent and abs(pair.value) > 100):
        return False
    return kind.has_integers or not pair.text.lstrip("+-").isdigit()


@lru_cache(1 << 12)
def _kind(name: str) -> _Kind | None:
    """Return the kind of a name; None if it is not one of a metric."""
    if _SETTING.search(name) or name == "map":
        return None
    bare = re.sub(r"\([^)]*\)$|@[\d.:]+$", "", name)
    # `valLoss`, but not `mAP`.
    separators = r"[\s_/.]+|(?<=[a-z]{2})(?=[A-Z])"
    *before, last = [word for word in re.split(separators, bare) if word] or [bare]
    if _WEAK.fullmatch(last):
        return _Kind(not (before and _QUALIFIED.fullmatch(before[-1])), False, False)
    # `top_1`; `loss_cls` of detectors, `f1_macro`.
    candidates = (last, f"{before[-1]}_{last}", before[0]) if before else (last,)
    words = [word for word in candidates if _WORD.fullmatch(word)]
    if not words:
        return None
    return _Kind(False, bool(_PERCENT.fullmatch(words[0])), any(map(_INTEGERS.fullmatch, words)))


def has_any(words: tuple[str, ...], text: str) -> bool:
    """Return whether a text contains one of some words."""
    return any(word in text for word in words)


def cleaned(text: str) -> str:
    """Return a line as a terminal shows it, without colors and movements of the cursor."""
    return _CONTROLS.sub("", text) if _CONTROL.search(text) else text
