# SPDX-License-Identifier: Apache-2.0
"""Python packages that uploaded code brings by name: what it declares, and the layer that holds them in a pod."""
