# SPDX-License-Identifier: Apache-2.0
"""Strategies that divide the model itself: tensors, optimiser and parameters, layers."""
