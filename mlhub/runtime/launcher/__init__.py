"""The main process of a pod: brings inputs, starts the trainer, ships what it says. Standard library only."""
