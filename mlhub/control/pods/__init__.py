# SPDX-License-Identifier: Apache-2.0
"""What pods are made of: the backend that makes them, their specification, resources and enclosure."""
