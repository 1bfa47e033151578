# SPDX-License-Identifier: Apache-2.0
"""What is learned from measurements for the scheduler: speeds, interference, batches, links, restart costs."""
