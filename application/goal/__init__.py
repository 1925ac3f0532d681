"""Goals: who sets one, what runs its checks after each attempt, and what is found out about the files."""
