# SPDX-License-Identifier: Apache-2.0
"""KERAS_BACKEND=torch python -m tests.runtime.importers.make_keras: writes keras_models/ anew, with Keras itself.

Needs keras and h5py. Each model comes with inputs and what Keras answers to them (channels last, as Keras has it).
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import keras
import numpy as np
from keras import layers as L  # noqa: N812

FOLDER = Path(__file__).parent / "keras_models"


def lenet() -> keras.Model:
    return keras.Sequential([
        L.Input((8, 8, 1)), L.Conv2D(4, 3, activation="relu", padding="same"), L.MaxPooling2D(),
        L.Conv2D(6, 3, strides=2, padding="same"), L.BatchNormalization(), L.Activation("tanh"),
        L.Flatten(), L.Dense(12, activation="relu"), L.Dropout(0.2), L.Dense(10, activation="softmax"),
    ])  # fmt: skip


def residual() -> keras.Model:
    given = keras.Input((7, 9, 3))
    x = L.Rescaling(2.0, offset=-1.0)(given)
    x = L.ZeroPadding2D(((1, 0), (2, 1)))(x)
    x = L.Conv2D(4, (3, 2), strides=2, use_bias=False, padding="same")(x)
    x = L.BatchNormalization(scale=False, momentum=0.9)(x)
    y = L.DepthwiseConv2D(3, padding="same", depth_multiplier=2)(x)
    y = L.Conv2D(4, 1, activation="gelu")(y)
    y = L.SeparableConv2D(4, 3, padding="same", activation="swish")(y)
    x = L.Add()([x, y])
    z = L.AveragePooling2D(3, strides=1, padding="same")(x)
    x = L.Concatenate()([x, z])
    x = L.PReLU(shared_axes=[1, 2])(x)
    x = L.MaxPooling2D(3, strides=2, padding="same")(x)
    x = L.LayerNormalization()(x)
    x = L.Dense(5, activation="leaky_relu")(x)
    pooled = L.GlobalAveragePooling2D()(x)
    highest = L.GlobalMaxPooling2D()(x)
    x = L.Multiply()([pooled, highest])
    return keras.Model(given, L.Dense(3, activation="softmax")(x))


def nested() -> keras.Model:
    base = keras.Sequential(
        [L.Input((6, 6, 2)), L.Conv2D(3, 3, groups=1), L.BatchNormalization(), L.ReLU()], name="base"
    )
    given = keras.Input((6, 6, 2))
    x = base(given)
    x = L.Conv2DTranspose(2, 3, strides=2, padding="same")(x)
    x = L.Cropping2D(1)(x)
    x = L.UpSampling2D(2)(x)
    x = L.Reshape((-1, 4))(x)
    x = L.Conv1D(3, 3, padding="causal", activation="relu")(x)
    x = L.MaxPooling1D(2)(x)
    x = L.GlobalAveragePooling1D()(x)
    once = L.Dense(3, name="twice", activation="tanh")
    x = L.Average()([once(x), once(once(x))])
    return keras.Model(given, L.Dense(1, activation="sigmoid")(x))


def words() -> keras.Model:
    return keras.Sequential([
        L.Input((12,)), L.Embedding(20, 4), L.Conv1D(5, 3, padding="same", activation="elu"),
        L.BatchNormalization(), L.GlobalMaxPooling1D(), L.Dense(2),
    ])  # fmt: skip


def pack(path: Path) -> None:
    """The same files in a zip that is smaller: Keras stores them as they are."""
    with zipfile.ZipFile(path) as stored:
        files = {name: stored.read(name) for name in stored.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    arrays = {}
    for make in (lenet, residual, nested, words):
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        model, random = make(), np.random.default_rng(2)
        for variable in model.weights:  # running statistics and slopes are all alike otherwise
            variable.assign(random.uniform(0.1, 0.6, variable.shape) if "moving" in variable.path else variable + 0.1)
        shape = (2, *model.input_shape[1:])
        x = random.integers(0, 20, shape) if make is words else random.normal(size=shape).astype(np.float32)
        arrays[f"{make.__name__}_x"], arrays[f"{make.__name__}_y"] = x, np.asarray(model.predict(x, verbose=0))
        model.save(FOLDER / f"{make.__name__}.keras")
        pack(FOLDER / f"{make.__name__}.keras")
        if make is nested:
            model.save(FOLDER / f"{make.__name__}.h5")
    np.savez_compressed(FOLDER / "answers.npz", **arrays)


if __name__ == "__main__":
    main()
