# SPDX-License-Identifier: Apache-2.0
"""Whether rounds are made and how the scheduler stands: probes, Prometheus, status, timeline, calibration."""
