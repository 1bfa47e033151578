# SPDX-License-Identifier: Apache-2.0
"""How long what jobs leave is kept: rules and bounds, who writes them, what they hold, deleting a job."""
