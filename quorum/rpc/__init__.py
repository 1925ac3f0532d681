"""The remote control: what can be asked of the app over a socket, and what that takes."""
