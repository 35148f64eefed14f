"""Train and cross-validate with XGBoost."""

import numpy as np
import xgboost

dice = np.random.default_rng(0)
X = dice.normal(size=(200, 5))
data = xgboost.DMatrix(X[:150], X[:150, 0])
valid = xgboost.DMatrix(X[150:], X[150:, 0])
parameters = {"max_depth": 2, "eval_metric": ["rmse", "mae"]}
xgboost.train(parameters, data, 4, evals=[(data, "train"), (valid, "valid")])
xgboost.cv({"max_depth": 2}, data, 3, nfold=2, verbose_eval=True, seed=0)
