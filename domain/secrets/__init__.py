"""What is secret: known values, and what looks like a key by its shape."""
