"""Goals: how one is set and its checks approved, and what is found out about the files since."""
