"""Model code and trained models: versions, validation, lineage."""
