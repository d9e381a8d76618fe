"""Readers: text that a tool printed becomes facts. Each is a pure function; :mod:`.recognise` chooses among them.

A reader goes by names and structure, never by column or line number. What the text does not say is ``None``; nothing is
invented, nothing is averaged. No reader raises for any text.
"""
