# SPDX-License-Identifier: Apache-2.0
"""A model as its author wrote it: the contract of a package, hyperparameters, the built-in models."""
