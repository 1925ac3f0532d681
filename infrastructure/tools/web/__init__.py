"""The web, where the person lets a model reach it: fetching a page, searching."""
