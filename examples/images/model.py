# SPDX-License-Identifier: Apache-2.0
"""A residual network for small pictures. MLHub calls build_model, and does the training."""

from torch import Tensor, nn
from torch.nn import functional

HYPERPARAMETERS = {"width": 16, "n_blocks": 2}  # any other name is refused


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)  # of each picture by itself: the same on any number of workers

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(functional.relu(self.norm(self.first(x)))))


def build_model(hyperparameters: dict) -> nn.Module:
    n_channels = hyperparameters["input_shape"][0]
    width = hyperparameters["width"]
    return nn.Sequential(
        nn.Conv2d(n_channels, width, 3, padding=1),
        nn.ReLU(),
        *(Block(width) for _ in range(hyperparameters["n_blocks"])),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * width, hyperparameters["n_classes"]),
    )
