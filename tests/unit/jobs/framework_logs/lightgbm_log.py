"""Train and cross-validate with LightGBM."""

import lightgbm
import numpy as np

dice = np.random.default_rng(0)
X = dice.normal(size=(300, 5))
data = lightgbm.Dataset(X[:200], X[:200, 0])
valid = lightgbm.Dataset(X[200:], X[200:, 0], reference=data)
parameters = {"objective": "regression", "metric": ["l2", "l1"], "num_leaves": 4, "learning_rate": 0.9}
lightgbm.train(
    parameters,
    data,
    6,
    valid_sets=[data, valid],
    callbacks=[lightgbm.log_evaluation(1), lightgbm.early_stopping(2)],
)
lightgbm.cv(
    {"objective": "regression", "verbosity": -1},
    lightgbm.Dataset(X, X[:, 0]),
    2,
    nfold=2,
    stratified=False,
    callbacks=[lightgbm.log_evaluation(1)],
)
