"""Plain, slow reference models: independent oracles for the Rust core, written from the reading of the papers alone."""
