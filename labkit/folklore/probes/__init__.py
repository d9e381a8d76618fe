"""The probes, one module for each theme of the ledger. ``python -m labkit.folklore.probes ID ...`` runs some and prints JSON."""
