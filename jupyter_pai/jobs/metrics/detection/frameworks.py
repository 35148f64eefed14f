"""Lines of XGBoost, LightGBM, CatBoost, Keras and scikit-learn, and tables of Lightning: one function per format.

Each returns the points of a line, or None if it has another format.
"""

from __future__ import annotations

import re

from .line import LONGEST_NAME, Line, Point
from .state import DetectorState
from .words import NUMBER, has_any, pairs

# XGBoost: `[0]\ttrain-rmse:0.5+0.01`; LightGBM: `[1]\ttraining's l2: 0.5 + 0.01`
_ROUND = re.compile(r"\[(\d+)\]\t(.+)")
_ROUND_VALUE = re.compile(rf"([^\t:]+): ?({NUMBER})(?: ?\+ ?({NUMBER}))?")
# CatBoost: `0:\tlearn: 0.69\ttest: 0.57\tbest: 0.57 (0)\ttotal: 47.8ms\tremaining: 143ms`
_CATBOOST = re.compile(r"(\d+):\t(.+\ttotal: .+)")
_CATBOOST_VALUE = re.compile(rf"(\w+): ({NUMBER})(?: \(\d+\))?")
_CATBOOST_BEST = re.compile(rf"(bestTest|bestIteration) = ({NUMBER})")
# Keras: `8/8 ━━━━━ 1s 39ms/step - accuracy: 0.5`, `8/8 - 0s - 468us/step - accuracy: 0.5`, `8/8 [====] - 1s - loss: 1`
_KERAS = re.compile(r"\s*(\d+)/(\d+|Unknown) ((?:[━=>.\[\]]| )*-? ?[\d:.]+[mun]?s .*?/(?:step|sample|epoch)\b.*)")
_KERAS_UNITS = ("/step", "/sample", "/epoch")
_KERAS_VALUE = re.compile(rf" - ((?:(?! - )[^:])+): ({NUMBER})(?= |$)")
# scikit-learn
_SKLEARN_MARKS = (
    "Remaining Time", " metric", "totalling", "[CV", "building tree", "[Parallel", "KL divergence", ", change: ",
    "for init", " tree",
)  # fmt: skip
_GB_HEADER = re.compile(r"\s+Iter\s{2,}.*Remaining Time\s*")
_GB_ROW = re.compile(rf"\s*(\d+)((?:\s+{NUMBER})+)\s+[\d.]+[smh]\s*")
_CV_FITS = re.compile(r"Fitting \d+ folds for each of \d+ candidates, totalling (\d+) fits")
_CV_END = re.compile(r"\[CV(?: \d+/\d+)?(?:; \d+/\d+)?\] END (.*?)total time=.*")
_CV_PART = re.compile(rf"(?:(?<=;, )|(?<=[;)] )|(?<=^))(\w+)(?:=|: )(?:({NUMBER})(?![.\w;])|\(([^)]*)\))")
_CV_VALUE = re.compile(rf"(\w+)=({NUMBER})")
_TREE = re.compile(r"building tree (\d+) of (\d+)")
_PARALLEL = re.compile(r"\[Parallel\(n_jobs=-?\d+\)\]: Done\s+(\d+) out of\s+(\d+) \|.*")
_BOOSTING = re.compile(r"\[(\d+)/(\d+)\] \d+ trees?, \d+ leaves.*")
_TSNE_END = re.compile(rf"\[t-SNE\] (KL divergence) after (\d+) iterations[^:]*: ({NUMBER})")
_SAGA = re.compile(rf"Epoch (\d+), change: ({NUMBER})")
_INIT = re.compile(rf"(Inertia) for init (\d+)/\d+: ({NUMBER})")
# Lightning: the table after `validate` and `test`
_RESULTS = re.compile(r"[┃\s]*(?:Validate|Test|Validation|Predict) metric\s*[┃\s]\s*(DataLoader \d+.*)")
_RULE = re.compile(r"[\s─━┏┓┗┛┡┩┳╇└┴┘├┼┤-]*")


def read_round(line: Line, state: DetectorState) -> list[Point] | None:
    match = _ROUND.fullmatch(line.text) if "\t" in line.text else None
    if not match:
        if "est iteration is:" in line.text:
            state.repeats = True
            return []
        return None
    if state.repeats:
        state.repeats = False
        return []
    points = []
    for part in match[2].split("\t"):
        if not (pair := _ROUND_VALUE.fullmatch(part.strip())):
            return None
        name, step = pair[1].strip()[: LONGEST_NAME - 5], int(match[1])
        points.append(Point(line.offset, f"{name}-mean" if pair[3] else name, step, float(pair[2])))
        if pair[3]:
            points.append(Point(line.offset, f"{name}-{'stdv' if ' ' in pair[1] else 'std'}", step, float(pair[3])))
    return points


def read_catboost(line: Line, state: DetectorState) -> list[Point] | None:
    if line.text.startswith("best") and (match := _CATBOOST_BEST.fullmatch(line.text.strip())):
        return [Point(line.offset, match[1], None, float(match[2]))]
    match = _CATBOOST.fullmatch(line.text) if "\ttotal: " in line.text else None
    if not match:
        return None
    found = [_CATBOOST_VALUE.fullmatch(part) for part in match[2].split("\t")]
    return [Point(line.offset, pair[1], int(match[1]), float(pair[2])) for pair in found if pair]


def read_keras(line: Line, state: DetectorState) -> list[Point] | None:
    match = _KERAS.fullmatch(line.text) if has_any(_KERAS_UNITS, line.text) else None
    if not match:
        return None
    n, total = int(match[1]), 0 if match[2] == "Unknown" else int(match[2])
    if not state.evaluates and total:
        state.advance_epochs(n / total)
    if not line.is_last:
        return []  # The averages of an epoch change until its last line.
    prefix, step = ("evaluate/", None) if state.evaluates else ("", state.epoch)
    state.evaluates = state.epoch is not None
    return [Point(line.offset, prefix + pair[1], step, float(pair[2])) for pair in _KERAS_VALUE.finditer(match[3])]


def read_sklearn(line: Line, state: DetectorState) -> list[Point] | None:
    if not has_any(_SKLEARN_MARKS, line.text):
        return None
    if _GB_HEADER.fullmatch(line.text):
        names = re.split(r"\s{2,}", line.text.strip())
        state.table, state.columns = "rounds", names[1:-1]
        return []
    if match := _RESULTS.fullmatch(line.text):
        state.table, state.columns = "results", re.findall(r"DataLoader \d+", match[1])
        return []
    if match := _CV_FITS.match(line.text):
        state.fits, state.fits_done = int(match[1]), 0
        return []
    if match := _CV_END.fullmatch(line.text):
        return _fit(line, match[1], state)
    if match := _TREE.fullmatch(line.text):
        state.advance_bar("trees", int(match[1]) - 1, int(match[2]))
        return []
    if match := _PARALLEL.fullmatch(line.text):
        state.advance_bar("trees", int(match[1]), int(match[2]))
        return []
    if match := _TSNE_END.fullmatch(line.text):
        return [Point(line.offset, match[1], int(match[2]), float(match[3]))]
    if match := _SAGA.fullmatch(line.text):
        state.begin_epoch(int(match[1]), None)
        return [Point(line.offset, "change", int(match[1]), float(match[2]))]
    if match := _INIT.fullmatch(line.text):
        return [Point(line.offset, match[1], int(match[2]), float(match[3]))]
    if match := _BOOSTING.fullmatch(line.text):
        n, total = int(match[1]), int(match[2])
        state.advance_bar("rounds", n, total)
        return [Point(line.offset, pair.name, n, pair.value) for pair in pairs(line.text)]
    return None


def _fit(line: Line, values: str, state: DetectorState) -> list[Point]:
    """Read the end of a fit of a cross-validation."""
    state.fits_done += 1
    if state.fits:
        state.progress = min(state.fits_done / state.fits, 1.0)
    points = []
    for part in _CV_PART.finditer(values):
        if part[2]:
            points.append(Point(line.offset, part[1], None, float(part[2])))
        for pair in _CV_VALUE.finditer(part[3] or ""):
            name = pair[1] if pair[1].endswith("_score") else f"{pair[1]}_{part[1]}"
            points.append(Point(line.offset, name, None, float(pair[2])))
    return points


def read_table_row(line: Line, state: DetectorState) -> list[Point] | None:
    """Read a row of the open table. Returns None if there is none, and after its end."""
    if not state.table:
        return None
    if state.table == "rounds":
        match = _GB_ROW.fullmatch(line.text)
        values = match[2].split() if match else []
        if match and len(values) == len(state.columns):
            state.go_to(int(match[1]))
            named = zip(state.columns, values, strict=True)
            return [Point(line.offset, name, int(match[1]), float(value)) for name, value in named]
    elif _RULE.fullmatch(line.text) and state.table == "results":
        state.table = "rows"
        return []
    elif state.table == "rows":
        name, *values = re.split(r"\s*│\s*|\s{2,}", line.text.strip(" │\n")) or [""]
        if len(values) == len(state.columns) and all(re.fullmatch(rf"(?:{NUMBER})?", value) for value in values):
            names = [name] if len(values) == 1 else [f"{name}/dataloader_idx_{n}" for n in range(len(values))]
            found = [(one, float(value)) for one, value in zip(names, values, strict=True) if value]
            return [Point(line.offset, one[:LONGEST_NAME], state.step, value) for one, value in found]
    state.table, state.columns = "", []
    return None
