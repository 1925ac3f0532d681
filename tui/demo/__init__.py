"""A guided tour in a folder that is thrown away afterwards; no model and no network are needed for it."""
