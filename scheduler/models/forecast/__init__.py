# SPDX-License-Identifier: Apache-2.0
"""When jobs start and finish: forward simulation of a plan, prediction intervals, arrivals."""
