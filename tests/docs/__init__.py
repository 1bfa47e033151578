# SPDX-License-Identifier: Apache-2.0
"""The documentation is held to the code: settings, commands, routes and files that it names."""
