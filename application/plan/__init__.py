"""Plans in a session: when one may be made, how it comes into force, and how far it is."""
