# SPDX-License-Identifier: Apache-2.0
"""For Python programs that train and ask models on an MLHub: fit a table, get a model. Neither Django nor torch."""

from mlhub.client.api import Refused, Unfinished
from mlhub.client.estimator import Estimator
from mlhub.client.model import TrainedModel

__all__ = ["Estimator", "Refused", "TrainedModel", "Unfinished"]
