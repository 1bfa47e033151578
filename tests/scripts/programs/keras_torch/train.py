# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier with Keras 3 on torch."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
x = np.random.rand(512, 8).astype("float32")
y = (x.sum(axis=1) > 4).astype("int64")

model = keras.Sequential(
    [keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dropout(0.1), layers.Dense(2, activation="softmax")]
)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
model.fit(
    x,
    y,
    batch_size=32,
    epochs=4,
    validation_split=0.2,
    callbacks=[
        keras.callbacks.ModelCheckpoint("checkpoints/epoch_{epoch:02d}.weights.h5", save_weights_only=True),
        keras.callbacks.CSVLogger("history.csv"),
    ],
)
loss, accuracy = model.evaluate(x, y, verbose=0)
print("Test accuracy:", accuracy)
model.save("classifier.keras")
