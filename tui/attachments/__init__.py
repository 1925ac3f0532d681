"""Images and PDFs that the person mentions, drops or pastes."""
