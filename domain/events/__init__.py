"""Everything that happens, as typed events with one stable JSON form, and the mask for secrets."""
