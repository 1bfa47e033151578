# SPDX-License-Identifier: Apache-2.0
"""What jobs leave: checkpoints, their files, and the lineage of models."""
