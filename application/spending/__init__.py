"""Spend caps: what every request to a model is asked about before it is sent."""
