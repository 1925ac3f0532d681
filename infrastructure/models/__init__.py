"""Providers of models: one package per API, and what all of them share."""
