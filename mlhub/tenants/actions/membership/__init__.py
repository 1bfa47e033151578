# SPDX-License-Identifier: Apache-2.0
"""Writes to who belongs where: members, roles, invitations, groups at the provider."""
