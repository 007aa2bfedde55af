"""Simple, slow reference models: independent oracles of the core, written from the papers."""
