"""What a full snapshot asks beyond files: commands, interpreters, places. Everything here has a time limit."""
