"""One GPU machine for many learners, by a real JupyterHub."""
