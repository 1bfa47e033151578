# SPDX-License-Identifier: Apache-2.0
"""The API for scripts that train by themselves, torchrun style. Standard library only."""
