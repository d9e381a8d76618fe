"""One module per lesson: its exercises, their probes, known mistakes and hints."""
