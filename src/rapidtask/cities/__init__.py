"""Cities: street graphs, loaded from files or generated."""
