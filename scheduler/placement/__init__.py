"""Puts gangs onto nodes, all or nothing. Knows free room and topology, no policy and no quota."""
