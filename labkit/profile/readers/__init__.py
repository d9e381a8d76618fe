"""Every profiler's files, read into one table: ``read`` takes a file, a folder, or several of them."""
