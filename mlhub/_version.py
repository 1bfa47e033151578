# SPDX-License-Identifier: Apache-2.0
"""The version of MLHub: of its package, its API, its Helm chart, its images and its dashboard."""

__version__ = "0.2.0"
