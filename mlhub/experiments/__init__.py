# SPDX-License-Identifier: Apache-2.0
"""Hyperparameter search: a study makes trials, each of them a job, and trains the promising ones for longer."""
