# SPDX-License-Identifier: Apache-2.0
"""Accounts as administrators manage them: the first one, users, service accounts, invitations by link."""
