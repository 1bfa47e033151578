# SPDX-License-Identifier: Apache-2.0
"""HTTP below the API: addresses and origin of requests, headers, compression, pages, probes."""
