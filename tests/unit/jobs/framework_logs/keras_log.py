"""Train and evaluate with Keras, with a bar and with a line per epoch."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

keras.utils.set_random_seed(0)
dice = np.random.default_rng(0)
X = dice.normal(size=(320, 5)).astype("float32")
y = (X[:, 0] > 0).astype("float32")
model = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X, y, epochs=2, validation_split=0.2)
model.evaluate(X, y)
model.fit(X, y, epochs=2, validation_split=0.2, verbose=2)
