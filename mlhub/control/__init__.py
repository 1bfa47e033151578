# SPDX-License-Identifier: Apache-2.0
"""The loop that joins the three libraries: observe, decide, apply. Only this room speaks to scheduler and backends."""
