"""How workers agree on one model. schema.py says what there is, without torch; registry.py who does it."""
