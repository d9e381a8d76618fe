"""Measurements that the project's claims rest on. Each module runs by itself: ``python -m benchmarks.NAME``."""
