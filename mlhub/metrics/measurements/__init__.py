# SPDX-License-Identifier: Apache-2.0
"""What attempts measure of themselves: speeds, batches, interference, links, stalls, use of machines."""
