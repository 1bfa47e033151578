# SPDX-License-Identifier: Apache-2.0
"""Jobs and their attempts; lifecycle.py is the only writer of a job's state."""
