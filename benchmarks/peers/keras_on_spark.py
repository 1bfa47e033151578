# SPDX-License-Identifier: Apache-2.0
"""PYTHON keras_on_spark.py DATA WIDTH BATCH_SIZE EPOCHS: Elephas, asynchronous, an update a batch; prints its seconds.

For a Python that has elephas 7.3 (with TensorFlow and PySpark) and a Java; nothing of this project is imported.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from elephas.spark_model import AsynchronousSparkModel
from elephas.utils.rdd_utils import to_simple_rdd
from pyspark import SparkConf, SparkContext
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import SGD
from tensorflow.keras.utils import to_categorical


def main(path: str, width: int, batch_size: int, epochs: int) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with np.load(path) as file:
        x, y = file["x"], to_categorical(file["y"], 10)
    layers = [Input((x.shape[1],)), Dense(width, "relu"), Dense(width, "relu"), Dense(10, "softmax")]
    model = Sequential(layers)
    model.compile(SGD(0.01), "categorical_crossentropy", ["accuracy"])
    context = SparkContext(conf=SparkConf().setMaster("local[2]").setAppName("peer"))
    context.setLogLevel("ERROR")
    data = to_simple_rdd(context, x, y)
    spark = AsynchronousSparkModel(
        model, num_workers=2, batch_size=batch_size, mode="asynchronous", frequency="batch",
        parameter_server_mode="http", port=int(time.time()) % 10000 + 20000,
    )  # fmt: skip
    began = time.perf_counter()
    spark.fit(data, epochs=epochs, batch_size=batch_size, verbose=0, validation_split=0.0)
    print("fit_s", time.perf_counter() - began, "examples", len(x))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
