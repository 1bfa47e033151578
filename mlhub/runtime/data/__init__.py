# SPDX-License-Identifier: Apache-2.0
"""Data on its way to a model: readers, sampling, augmentation, normalisation, the node cache, archives."""
