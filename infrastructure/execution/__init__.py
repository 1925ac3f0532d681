"""Running commands: the processes, the sandbox around them, and the gate before them."""
