"""Use cases, the tool runtime, and the ports they need."""
