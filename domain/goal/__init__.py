"""A goal: what the person wants reached, the checks that say whether it is, and receipts of attempts."""
