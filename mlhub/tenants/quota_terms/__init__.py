# SPDX-License-Identifier: Apache-2.0
"""What quotas consist of besides numbers: budgets, boosts and limits of users. No scheduler here."""
