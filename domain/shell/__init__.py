"""Shell commands taken apart, and the specifications that prove which of them only read."""
