# SPDX-License-Identifier: Apache-2.0
"""Commands about organisations, teams and projects: roles, quotas, retention, secrets."""
