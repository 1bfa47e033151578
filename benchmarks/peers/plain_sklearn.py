# SPDX-License-Identifier: Apache-2.0
"""python plain_sklearn.py ARRAYS.npz: scikit-learn's own defaults on x, y, scored on x_test, y_test; one JSON object.

For an environment of its own with scikit-learn. Numbers are standardised where a linear model needs it; nothing else is
chosen. Classification: percent that are right; regression: R2.
"""

import json
import sys
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")


def main() -> None:
    arrays = np.load(sys.argv[1])
    x, y, x_test, y_test = (arrays[name] for name in ("x", "y", "x_test", "y_test"))
    x, x_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)
    if np.issubdtype(y.dtype, np.integer):
        models = {
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
            "random forest": RandomForestClassifier(random_state=0),
        }
        factor = 100.0
    else:
        models = {
            "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
            "random forest": RandomForestRegressor(random_state=0),
        }
        factor = 1.0
    print(json.dumps({name: factor * model.fit(x, y).score(x_test, y_test) for name, model in models.items()}))


if __name__ == "__main__":
    main()
