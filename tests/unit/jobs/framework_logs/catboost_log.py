"""Train with CatBoost."""

import numpy as np
from catboost import CatBoostRegressor

dice = np.random.default_rng(0)
X = dice.normal(size=(200, 5))
model = CatBoostRegressor(iterations=4, depth=2, allow_writing_files=False, thread_count=1)
model.fit(X[:150], X[:150, 0], eval_set=(X[150:], X[150:, 0]))
