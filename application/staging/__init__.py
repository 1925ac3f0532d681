"""The review of what a session did in a layer over its workspace, before it is applied."""
