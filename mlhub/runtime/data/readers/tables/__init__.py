# SPDX-License-Identifier: Apache-2.0
"""Tables: what a column holds, which columns are learned from, and how they become a model's inputs."""
