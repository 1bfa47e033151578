# SPDX-License-Identifier: Apache-2.0
"""Fits a linear classifier in batches with scikit-learn's partial_fit, without torch."""

import argparse
from pathlib import Path

import joblib
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, log_loss

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--alpha", type=float, default=1e-4)
args = parser.parse_args()

random = np.random.default_rng(0)
x = random.normal(size=(600, 5))
y = (x @ random.normal(size=5) > 0).astype(int)
train_x, test_x, train_y, test_y = x[:500], x[500:], y[:500], y[500:]

model = SGDClassifier(loss="log_loss", alpha=args.alpha, random_state=0)
for epoch in range(1, args.epochs + 1):
    for start in range(0, len(train_x), 100):
        model.partial_fit(train_x[start : start + 100], train_y[start : start + 100], classes=[0, 1])
    accuracy = accuracy_score(test_y, model.predict(test_x))
    print(f"epoch={epoch} accuracy={accuracy:.4f} log_loss={log_loss(test_y, model.predict_proba(test_x)):.4f}")

output = Path("output")
output.mkdir(exist_ok=True)
joblib.dump(model, output / "model.joblib")
