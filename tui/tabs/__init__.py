"""Several sessions side by side: each with its own chat, its own questions and its own end."""
