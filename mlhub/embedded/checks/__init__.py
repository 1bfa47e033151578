# SPDX-License-Identifier: Apache-2.0
"""Checks of an installation: what is checked, and how checks are run."""
