# SPDX-License-Identifier: Apache-2.0
"""`make kube-check`: is this cluster fit for MLHub? Looks, installs, launches real gangs, reports in words, cleans up.

installation.py: the rights, granted to an account of its own. surroundings.py: what the cluster offers.
gangs.py: the five verbs against real pods. report.py: findings and how they are printed.
"""
