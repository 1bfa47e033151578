# SPDX-License-Identifier: Apache-2.0
"""Announcements: what administrators of the platform say to everybody, or to one organisation, for a time."""
