"""The API for scripts that train by themselves, torchrun style. Standard library only."""
