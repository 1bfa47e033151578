# SPDX-License-Identifier: Apache-2.0
"""Trained models that answer: what fits them, their answers for a part of a dataset, and parts made into one file."""
