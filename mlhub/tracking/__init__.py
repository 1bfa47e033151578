# SPDX-License-Identifier: Apache-2.0
"""Runs that are tracked by the MLflow protocol: those of programs elsewhere, and what jobs log through it."""
