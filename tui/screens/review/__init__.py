"""The review dialog: what is asked, how it is shown, and which keys answer."""
