"""Tool servers that speak the Model Context Protocol: what they offer, and how they stand."""
