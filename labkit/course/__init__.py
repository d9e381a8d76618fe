"""The course itself: list, execute, judge, canonical form, report."""
