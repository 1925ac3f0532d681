"""Many sessions run by workers: their processes, and what came of them."""
