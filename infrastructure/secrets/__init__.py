"""Where secrets are known from, where keys are kept, and how they stay out of logs."""
