"""The socket of the remote control: where it lies, who may connect, and what travels over it."""
