"""Web push: messages to browsers that may be closed, through the push services that they name."""
