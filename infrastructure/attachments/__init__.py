"""Images and PDFs to attach: recognised, measured and read."""
