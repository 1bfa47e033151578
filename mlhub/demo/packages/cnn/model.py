# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network for one-channel images such as handwritten digits."""

from torch import Tensor, nn


class SmallCnn(nn.Module):
    def __init__(self, n_channels: int, size: int, n_classes: int, width: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(n_channels, width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Linear(2 * width * (size // 4) ** 2, 64),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(64, n_classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images))


def build_model(hyperparameters: dict) -> nn.Module:
    n_channels, size, _ = hyperparameters["input_shape"]
    return SmallCnn(n_channels, size, hyperparameters["n_classes"], hyperparameters.get("width", 16))
