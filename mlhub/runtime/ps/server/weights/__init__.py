# SPDX-License-Identifier: Apache-2.0
"""What pushes do to the weights of a shard: chunks with their optimisers, pushes under way, versions."""
