"""Who decides that a call may run: permission rules, guards, ballots, and the one decision."""
