"""Where a provider is reached and with which credentials, cloud services included."""
