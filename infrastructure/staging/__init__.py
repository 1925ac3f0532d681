"""The layer in which a staged session works: mounted over its workspace, kept in the state folder."""
