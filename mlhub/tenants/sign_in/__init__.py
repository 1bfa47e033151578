# SPDX-License-Identifier: Apache-2.0
"""Who is asking: sessions and tokens, whom a request is charged to, lock-outs, cookies, audit of sign-ins."""
