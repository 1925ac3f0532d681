"""What outlives a process: the ledger, stored outputs, and the former contents of files."""
