"""A session as front ends show it: the one reduction of events to entries, the present turn and timings."""
