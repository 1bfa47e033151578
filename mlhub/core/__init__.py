# SPDX-License-Identifier: Apache-2.0
"""No domain: errors and their HTTP form, pagination, ids, base querysets, health. Every other app may import it."""
