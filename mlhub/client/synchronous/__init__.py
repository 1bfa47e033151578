# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from asynchronous/: do not edit.
"""The client with async. mlhub.client.synchronous is made from it by `make client`."""
