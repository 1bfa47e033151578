# SPDX-License-Identifier: Apache-2.0
"""What would become of a job, and what would help it: preview, what-if, counterfactuals. Nothing is stored."""
