# SPDX-License-Identifier: Apache-2.0
"""Who may do what where: which roles a person has, what they allow, and why a person can, or can't."""
