# SPDX-License-Identifier: Apache-2.0
"""Model code and trained models: versions, validation, lineage."""
