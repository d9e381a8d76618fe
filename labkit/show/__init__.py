"""Figures and widgets for the lessons, each with a plain-text form."""
