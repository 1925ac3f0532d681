"""Models: one wire per way of speaking to a provider, and the session that all of them share."""
