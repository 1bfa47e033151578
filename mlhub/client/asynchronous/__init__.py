# SPDX-License-Identifier: Apache-2.0
"""The client with async. mlhub.client.synchronous is made from it by `make client`."""
