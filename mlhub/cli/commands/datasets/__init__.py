# SPDX-License-Identifier: Apache-2.0
"""Commands about datasets and model code: push, show, compare, fetch from addresses, remove."""
