# SPDX-License-Identifier: Apache-2.0
"""Who decides a round: the policy, the process that it decides in, its memory, and shadow policies."""
