"""The sandbox that commands run in: what is probed, what is hidden, and the command line that does it."""
