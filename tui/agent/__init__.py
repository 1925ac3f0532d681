"""What the app needs of an agent, and the turns it runs."""
