"""QObjects with state and signals; no widgets. They reach the service through the bridge only."""
