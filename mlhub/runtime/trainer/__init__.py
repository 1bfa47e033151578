# SPDX-License-Identifier: Apache-2.0
"""The process with torch in it: the training loop, batches, evaluation, progress, checkpoint writing."""
