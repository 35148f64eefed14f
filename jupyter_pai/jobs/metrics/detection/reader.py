"""Lines of training logs: their metrics, steps and progress.

`tests/unit/jobs/framework_logs` has a log of each framework.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping

from .frameworks import read_catboost, read_keras, read_round, read_sklearn, read_table_row
from .line import LONGEST_NAME, Line, Point
from .state import MOST_STEPS, DetectorState
from .words import NUMBER, STEPS, VALUE, Pair, has_any, is_metric, pairs, spaced_pairs

# tqdm: `Epoch 1:  50%|█████     | 5/10 [00:01<00:01, 9.9it/s, loss=0.5]`
_BAR = re.compile(
    r"(?P<title>.*?):?\s*\d{1,3}%\|[^|]*\|\s*(?P<n>[\d.]+)(?P<unit>[kKMGTP]?)/(?P<total>[\d.]+)[kKMGTP]? "
    r"\[(?P<elapsed>[\d:]+)<(?P<left>[\d:?]+)(?:,\s*(?P<rate>[^,\]]+))?(?:, (?P<values>[^\]]*))?\]\s*"
)
_LONGEST_TIME = 20
_BAR_VALUE = re.compile(rf"([^=,]+)={VALUE}\s*")
# Bars of an evaluation between or after epochs.
_EVALUATION = re.compile(r"sanity|validat|val\b|test|predict|evaluat|eval\b", re.IGNORECASE)
# Lines of scikit-learn with names of any kind
_SKLEARN = re.compile(r"\[(?:t-SNE|BernoulliRBM|IterativeImputer|graphical_lasso)\] .*|Norm: .*NNZs: .*")
# Anything else
_EPOCH = re.compile(
    r"(?<![\w./?&=-])epoch(?:\s*\(\w+\))?\s{0,2}[:=#]?\s{0,2}\[?\s{0,3}(\d+)(?:\s?(?:/|of)\s?(\d+))?(?![\w.]\d|%)\]?",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?<![\w./?&=-])(?:global[_ ]step|minibatch step|step|iter(?:ation)?|batch|episode|update|timesteps?)"
    r"\s{0,2}[:=#]?\s{0,10}\[?\s{0,10}(\d+)(?:\s*(?:/|of(?: max_iter:)?)\s*(\d+))?(?![\w.]\d|%)\]?",
    re.IGNORECASE,
)
_STEP_WORDS = ("step", "iter", "batch", "episode", "update")
_FRACTION = re.compile(r"\[\s*(\d+)\s?/\s?(\d+)\b")
_DOCKER = re.compile(r"\s*Step \d+/\d+ : ")
_DICT = re.compile(r"\{.*\}\s*$")
_PHASE = re.compile(r"\s*(train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?) (?=\S)", re.IGNORECASE)
# Commands, differences of files, and code.
_CODE = re.compile(r"\s*(?:\+|#|\$ |>|E {2,}|assert |-+> ?\d|-(?! |- Epoch)|- {2,}|(?:\S*/)?python[\d.]* \S)")
_SOURCE_LINE = re.compile(r'\s+File ".*", line \d+|-+> ?\d+ ')
_ASSIGNMENT = re.compile(r"\s{4,}[\w.]+ ?= ?\S+\s*")


def read_line(line: Line, state: DetectorState) -> list[Point]:
    """Return the points of a line, and update the context. A point may come from an earlier line."""
    if not line.text.strip():
        return []
    if (points := _bar(line, state)) is not None:
        return points
    earlier = flush(state)
    for read in (read_table_row, *_FORMATS):
        if (points := read(line, state)) is not None:
            return earlier + points
    return earlier


def _bar(line: Line, state: DetectorState) -> list[Point] | None:
    match = _BAR.match(line.text) if "%|" in line.text else None
    if not match:
        return None
    title, unit = match["title"].strip(), match["unit"] or "." in match["n"] + match["total"]
    if unit or (match["rate"] or "").strip().endswith("B/s"):
        return flush(state)  # A bar of a download: it counts bytes.
    n, total = int(match["n"]), int(match["total"])
    epoch = _EPOCH.search(title)
    points: list[Point] = []
    if state.waiting and not line.is_nested and total == state.bar_total:
        points, state.waiting = [Point(offset, name, n, value) for offset, name, value in state.waiting], []
    is_evaluation = line.is_nested or _EVALUATION.search(title)
    is_single = bool(epoch and not epoch[2] and epoch.end() == len(title))
    if epoch and not is_evaluation:
        state.begin_epoch(int(epoch[1]), int(epoch[2]) if epoch[2] else None)
    if not is_evaluation and not (is_single and not state.epochs):
        is_progress = state.advance_bar(title, n, total)
        if is_progress and (left := _seconds(match["left"])) is not None:
            elapsed = _seconds(match["elapsed"]) if state.epochs else None
            state.expect_end(elapsed or 0.0, left, line.offset)
    values = [
        (line.offset, pair[1].strip()[:LONGEST_NAME], float(pair[2]))
        for pair in _BAR_VALUE.finditer(match["values"] or "")
    ]
    title_values = [(line.offset, pair.name, pair.value) for pair in pairs(title) if is_metric(pair, has_step=True)]
    values = [value for value in values + title_values if value[1] != "v_num"]
    key = f"{re.sub(NUMBER, '', title)}/{total}"
    step = state.global_step(n, total) if epoch else n
    if (key, step) != (state.held_bar, state.held_step):
        points += _release(state)
    state.held_bar, state.held_step, state.held = key, step, values
    if is_single:
        # Such bars repeat the values of earlier steps and epochs.
        state.go_to(step)
        state.held = [value for value in values if state.shown.get(value[1]) != value[2]]
    rest = line.text[match.end() :]
    if line.is_last:
        points += _release(state)
    if "{" in rest:
        points += _dict(line._replace(text=rest), state) or []
    return points


def _seconds(text: str) -> float | None:
    """Return the seconds of `1:02:03`; None for `?`."""
    seconds = 0
    if len(text) > _LONGEST_TIME or "?" in text:
        return None
    for part in text.split(":"):
        seconds = 60 * seconds + int(part or 0)
    return float(seconds)


def _release(state: DetectorState) -> list[Point]:
    """Return the values that the current bar shows."""
    held, state.held = state.held, []
    points = [Point(offset, name, state.held_step, value) for offset, name, value in held]
    for point in points:
        state.show(point.name, point.value)
    return points


def flush(state: DetectorState) -> list[Point]:
    """Return the points of earlier lines that waited for a following one."""
    points = _release(state)
    # After the last bar: a summary.
    points += [Point(offset, name, state.bar_done or None, value) for offset, name, value in state.waiting]
    state.waiting, state.held_bar, state.held_step = [], "", None
    return points


def _dict(line: Line, state: DetectorState) -> list[Point] | None:
    """Read `{'loss': 0.5, 'epoch': 1.0}` of Hugging Face's Trainer, and lines of JSON."""
    match = _DICT.search(line.text) if "{" in line.text else None
    values = _parsed(match[0]) if match else None
    if not match or values is None:
        return None
    numbers = {
        name: Pair(name, number, str(text)) for name, text in values.items() if (number := _number(text)) is not None
    }
    is_trainer = "epoch" in numbers and not isinstance(values["epoch"], int)
    summary = is_trainer and any(name.endswith(("_runtime", "_samples_per_second")) for name in numbers)
    if not summary and not any(is_metric(pair, has_step=is_trainer) for pair in numbers.values()):
        return []
    if not is_trainer:
        steps = [name for name in ("global_step", "step", "iteration", "iter", "epoch") if name in numbers]
        found = [(name, pair.value) for name, pair in numbers.items() if not STEPS.fullmatch(name)]
        number = numbers[steps[0]].value if steps else math.nan
        step = int(number) if abs(number) < MOST_STEPS else None
        return [Point(line.offset, name[:LONGEST_NAME], step, value) for name, value in found]
    waiting = [(line.offset, name[:LONGEST_NAME], pair.value) for name, pair in numbers.items()]
    if state.bar_total:
        # The Trainer then shows its bar again, at the step of these values.
        state.waiting = waiting
        return []
    return [Point(offset, name, None, value) for offset, name, value in waiting]


def _parsed(text: str) -> Mapping[str, object] | None:
    text = re.sub(rf"(?:np\.float\d+|tensor)\(({NUMBER})[^()]*\)", r"\1", text)
    try:
        value = (
            json.loads(text) if '"' in text else ast.literal_eval(re.sub(r"(?<=: )nan\b|(?<=: )inf\b", "'nan'", text))
        )
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) and all(isinstance(name, str) for name in value) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and not re.fullmatch(NUMBER, value):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _other(line: Line, state: DetectorState) -> list[Point] | None:
    """Read any other line: with an epoch, a step, and named metrics."""
    text = line.text
    lower = text.lower()
    epoch = _EPOCH.search(text) if "epoch" in lower else None
    step = _STEP.search(text) if has_any(_STEP_WORDS, lower) else None
    has_step = bool(epoch or step)
    named = [pair for pair in pairs(text) if not STEPS.fullmatch(pair.name.rpartition(" ")[2])]
    if has_step and not named:
        head = max(match.end() for match in (epoch, step) if match)
        named = list(spaced_pairs(text[head:].lstrip(" ]:,-")))
    if not named and not has_step:
        return []
    if _CODE.match(text) or _DOCKER.match(text) or _ASSIGNMENT.fullmatch(text) or _SOURCE_LINE.match(line.before):
        return []
    known = bool(_SKLEARN.fullmatch(text))
    is_found = known or any(is_metric(pair, has_step=has_step) for pair in named)
    n = _context(line, epoch, step, state, has_values=is_found)
    if not is_found:
        return []
    is_bare = not has_step and text.startswith("[")  # `[t-SNE] Mean sigma: 0.7` before the first iteration
    return [
        Point(line.offset, name[:LONGEST_NAME], n if n is not None or is_bare else state.step_of(name), value)
        for name, value in _with_phase(text, named)
    ]


def _with_phase(text: str, named: list[Pair]) -> list[tuple[str, float]]:
    """Return names and values. In `train Loss: 0.7 Acc: 0.5`, both are of the training."""
    phase = _PHASE.match(text)
    if not phase or not named[0].name.startswith(f"{phase[1]} "):
        return [(pair.name, pair.value) for pair in named]

    def full(pair: Pair) -> str:
        has_phase = "_" in pair.name or _PHASE.match(pair.name)
        return pair.name if has_phase or not is_metric(pair, has_step=False) else f"{phase[1]} {pair.name}"

    return [(full(pair), pair.value) for pair in named]


def _context(
    line: Line, epoch: re.Match[str] | None, step: re.Match[str] | None, state: DetectorState, *, has_values: bool
) -> int | None:
    """Update epoch, step and progress. Return the step of the line; None if it has none."""
    text = line.text
    if epoch:
        state.begin_epoch(int(epoch[1]), int(epoch[2]) if epoch[2] else None)
        if epoch[2] and not step:
            state.advance_epochs(1.0 if has_values else 0.0)
    inner = None
    if not step and (has_values or epoch):
        inner = _FRACTION.search(text, epoch.end() if epoch else 0)
        inner = inner or (re.compile(r":?\s+(\d+) / (\d+)\b").match(text, epoch.end()) if epoch else None)
    part = step if step and step[2] else inner
    if part and int(part[1]) <= int(part[2]):
        n, total = int(part[1]), int(part[2])
        if state.epochs:
            state.advance_epochs(n / total if total else 0.0)
        elif step:
            state.advance_bar("step", n, total)
        has_epochs = epoch or inner
        found = state.global_step(n, total) if has_epochs else n
    elif step:
        found = int(step[1])
    elif epoch:
        found = int(epoch[1])
    else:
        return None
    state.go_to(found)
    return found


_FORMATS: tuple[Callable[[Line, DetectorState], list[Point] | None], ...] = (
    _dict, read_round, read_catboost, read_keras, read_sklearn, _other,
)  # fmt: skip
