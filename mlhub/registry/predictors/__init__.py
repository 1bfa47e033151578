# SPDX-License-Identifier: Apache-2.0
"""Warm predictors: trained models that stay loaded in the sandbox for a while, to be tried out with single rows."""
