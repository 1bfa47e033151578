# SPDX-License-Identifier: Apache-2.0
"""The main process of a pod: brings inputs, starts the trainer, ships what it reports. Standard library only."""
