"""The site: the executed lessons as static pages, with the catalog, the ledger of claims and who ran what where."""
