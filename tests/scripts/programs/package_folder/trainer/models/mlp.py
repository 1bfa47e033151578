# SPDX-License-Identifier: Apache-2.0
from torch import nn


def build_mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
