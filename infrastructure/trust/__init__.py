"""Which project files the person trusts, and what they contained when they did."""
