"""A fresh clone becomes a working environment. Standard library only."""
