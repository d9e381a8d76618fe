"""Data sets with provenance."""
