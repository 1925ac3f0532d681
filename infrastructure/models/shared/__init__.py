"""What the clients of all model APIs share: requests, streams, errors, retries, listings."""
