"""Decides who trains where: cluster and job snapshots in, a Plan out.

Pure: standard library, numpy and scipy only; no clock, no global random state, no disk but in __main__.
The live control loop and the simulator call the same decide().
"""
