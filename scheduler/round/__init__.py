"""One round: decide() and its numbered steps, one file a step."""
