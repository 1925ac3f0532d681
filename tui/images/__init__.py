"""Images that the person mentions, drops or pastes."""
