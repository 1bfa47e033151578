# SPDX-License-Identifier: Apache-2.0
from .mlp import build_mlp

__all__ = ["build_mlp"]
