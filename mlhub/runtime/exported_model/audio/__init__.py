# SPDX-License-Identifier: Apache-2.0
"""Clips as the model was trained on them: one channel, its sample rate, its length."""
