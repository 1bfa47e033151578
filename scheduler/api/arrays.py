# SPDX-License-Identifier: Apache-2.0
"""Names of the array types of the library; an array's axes are the capital letters at the end of its name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
