# SPDX-License-Identifier: Apache-2.0
"""Amounts as Kubernetes and its annotations write them, as numbers in their base unit. Pure."""

from __future__ import annotations

import re

_BITS = {"": 1.0, "bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12}
_UNITS = {
    "": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip


def quantity(text: str | float | None) -> float:
    """A Kubernetes quantity in its base unit: "500m" is 0.5, "2Gi" 2147483648. What is none counts as 0."""
    match = re.fullmatch(r"([0-9.]+(?:[eE][0-9]+)?)([a-zA-Z]*)", str(text or "0").strip())
    return float(match[1]) * _UNITS.get(match[2], 0.0) if match and match[1].count(".") <= 1 else 0.0


def bits(text: str) -> float:
    """ "25Gbit" or a plain number of bits per second; 0.0 for anything else."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    return float(match[1]) * _BITS.get(match[2].lower(), 0.0) if match else 0.0
