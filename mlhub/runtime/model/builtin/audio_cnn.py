# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network over the log-mel spectrograms of clips."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model import builtin

HYPERPARAMETERS = builtin.HYPERPARAMETERS["audio_cnn"]
QUIET = 1e-6  # power that is heard as silence
MIDDLE, SPREAD = -6.0, 4.0  # of the logarithms of usual recordings


class LogMel(nn.Module):
    """Samples (batch, 1, length) to images (batch, 1, n_mels, frames). It has nothing to learn, and no state."""

    window: Tensor
    filters: Tensor

    def __init__(self, sample_rate: int, n_mels: int, *, window_ms: float, hop_ms: float) -> None:
        super().__init__()
        self.hop = max(1, round(sample_rate * hop_ms / 1000))
        n_window = max(2, round(sample_rate * window_ms / 1000))
        self.n_fft = 1 << (n_window - 1).bit_length()
        self.register_buffer("window", torch.hann_window(n_window), persistent=False)
        self.register_buffer("filters", mel_filters(sample_rate, self.n_fft, n_mels), persistent=False)

    def forward(self, samples: Tensor) -> Tensor:
        with torch.autocast(samples.device.type, enabled=False):  # there are no transforms of half precision
            spectrum = torch.stft(
                samples[:, 0].float(), self.n_fft, self.hop, len(self.window), self.window,
                center=True, pad_mode="constant", return_complex=True,
            )  # fmt: skip
            mel = self.filters @ (spectrum.real.square() + spectrum.imag.square())
            return ((torch.log(mel + QUIET) - MIDDLE) / SPREAD).unsqueeze(1)


def mel_filters(sample_rate: int, n_fft: int, n_mels: int) -> Tensor:
    """Triangles over the frequencies of a spectrum, shape (n_mels, n_fft // 2 + 1), whose centres are equally far
    apart in mel, with a mean of the power below each. Source: O'Shaughnessy, Speech Communication (1987)."""
    frequencies = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1, dtype=torch.float64)
    most = 2595 * torch.log10(torch.tensor(1 + sample_rate / 2 / 700, dtype=torch.float64))
    edges = 700 * (10 ** (torch.linspace(0, float(most), n_mels + 2, dtype=torch.float64) / 2595) - 1)
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (frequencies - low) / (centre - low), (high - frequencies) / (high - centre)
    triangles = torch.minimum(rising, falling).clamp(min=0)
    return (triangles / triangles.sum(1, keepdim=True).clamp(min=1e-9)).float()


def build_model(hyperparameters: dict[str, Any]) -> nn.Module:
    values = {**HYPERPARAMETERS, **hyperparameters}
    width = int(values["width"])
    _check(values)

    def block(n_in: int, n_out: int) -> list[nn.Module]:
        norm = nn.GroupNorm(min(8, n_out), n_out)  # the same on any number of workers
        return [nn.Conv2d(n_in, n_out, 3, padding=1, bias=False), norm, nn.ReLU()]

    spectrogram = LogMel(
        int(values["sample_rate"]),
        int(values["n_mels"]),
        window_ms=float(values["window_ms"]),
        hop_ms=float(values["hop_ms"]),
    )
    return nn.Sequential(
        spectrogram,
        *block(1, width),
        nn.MaxPool2d(2, ceil_mode=True),
        *block(width, 2 * width),
        nn.MaxPool2d(2, ceil_mode=True),
        *block(2 * width, 4 * width),
        nn.AdaptiveAvgPool2d((4, 1)),  # pitch counts, the moment does not
        nn.Flatten(),
        nn.Dropout(float(values["dropout"])),
        nn.Linear(16 * width, hyperparameters.get("n_classes", 1)),
    )


def _check(values: dict[str, Any]) -> None:
    """Raises BadInputError for a spectrogram that cannot be computed."""
    limits = {"n_mels": (4, 512), "window_ms": (1, 1000), "hop_ms": (0.5, 1000), "width": (1, 4096)}
    for name, (least, most) in limits.items():
        if not least <= values[name] <= most:
            raise BadInputError(
                f"{name} is {values[name]}.",
                field=f"hyperparameters.{name}",
                remedy=f"Give a value from {least} to {most}.",
            )
