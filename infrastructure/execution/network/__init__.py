"""The network of commands that have none of their own: a proxy that lets them reach named hosts."""
