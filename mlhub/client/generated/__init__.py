# SPDX-License-Identifier: Apache-2.0
"""The API's types and operations. Written by `make client`: do not edit."""
