# SPDX-License-Identifier: Apache-2.0
"""How long tests wait for what must happen: only something that hangs takes so long, on the busiest machine."""

PATIENCE_S = 300.0
