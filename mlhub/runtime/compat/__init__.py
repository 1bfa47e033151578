# SPDX-License-Identifier: Apache-2.0
"""Optional: the verbs of other frameworks (Horovod, MXNet's kvstore, parameter tables) for scripts written for them."""
