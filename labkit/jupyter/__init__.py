"""The course's room in JupyterLab: a list of lessons with progress, a device gauge, and a reset that keeps the learner's copy."""
