"""Moving processes: five verbs (protocol.py) and their implementations. No Django, no queues, no quota, no scheduler."""
