# SPDX-License-Identifier: Apache-2.0
"""What a pod uses of its machine: processors, memory, disk, network and GPU. Linux; standard library only."""
