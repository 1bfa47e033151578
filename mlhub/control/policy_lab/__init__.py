# SPDX-License-Identifier: Apache-2.0
"""The policy lab: the platform's history, or a trace, under other policies. Nothing here changes what the loop does."""
