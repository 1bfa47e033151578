# SPDX-License-Identifier: Apache-2.0
"""One round: decide() and its numbered steps, one file a step."""
