"""Train estimators of scikit-learn with `verbose`."""

import warnings

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.manifold import TSNE
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import BernoulliRBM, MLPClassifier

warnings.simplefilter("ignore")
dice = np.random.default_rng(0)
X = dice.normal(size=(200, 5))
y = (X[:, 0] + 0.5 * dice.normal(size=200) > 0).astype(int)


def section(name: str) -> None:
    print(f"## {name}", flush=True)


section("MLPClassifier")
MLPClassifier(max_iter=4, early_stopping=True, verbose=True, random_state=0).fit(X, y)
section("SGDClassifier")
SGDClassifier(max_iter=3, tol=None, verbose=1, random_state=0).fit(X, y)
section("GradientBoostingClassifier")
GradientBoostingClassifier(n_estimators=4, subsample=0.5, verbose=1, random_state=0).fit(X, y)
section("HistGradientBoostingClassifier")
HistGradientBoostingClassifier(max_iter=3, early_stopping=True, scoring="loss", verbose=2, random_state=0).fit(X, y)
section("RandomForestClassifier")
RandomForestClassifier(n_estimators=3, verbose=2, random_state=0).fit(X, y)
section("KMeans")
KMeans(3, n_init=1, max_iter=3, verbose=1, random_state=0).fit(X)
section("MiniBatchKMeans")
MiniBatchKMeans(3, n_init=1, max_iter=2, batch_size=100, verbose=1, random_state=0).fit(X)
section("GridSearchCV")
GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, verbose=3).fit(X, y)
section("GridSearchCV with several scores")
GridSearchCV(
    LogisticRegression(), {"C": [1.0]}, cv=2, verbose=3, scoring=["accuracy", "f1"], refit="f1", return_train_score=True
).fit(X, y)
section("LatentDirichletAllocation")
LatentDirichletAllocation(2, max_iter=2, evaluate_every=1, verbose=1, random_state=0).fit(np.abs(X))
section("NMF")
NMF(2, solver="mu", max_iter=20, verbose=1, random_state=0).fit(np.abs(X))
section("TSNE")
TSNE(perplexity=10, max_iter=300, verbose=2, random_state=0).fit_transform(X)
section("BernoulliRBM")
BernoulliRBM(2, n_iter=2, verbose=1, random_state=0).fit((X > 0).astype(float))
section("LogisticRegression")
LogisticRegression(solver="saga", max_iter=3, verbose=1, random_state=0).fit(X, y)
