# SPDX-License-Identifier: Apache-2.0
"""Datasets: immutable versions with a manifest, inspected before they can be used."""
