"""Traces and metrics of sessions, by the GenAI conventions of OpenTelemetry."""
