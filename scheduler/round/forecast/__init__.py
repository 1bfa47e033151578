# SPDX-License-Identifier: Apache-2.0
"""What is predicted of a round's jobs: from the plan carried out, and from budgets that stop them."""
