"""quorum as the gate of other agents: their calls read, decided about, and answered in their own form."""
