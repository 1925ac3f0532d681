"""The revisions of the schema, each in a module of its own."""
