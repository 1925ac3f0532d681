"""The screen of `/jobs`: the background commands of a session."""
