"""The process with torch in it: the training loop, batches, evaluation, progress, checkpoint writing."""
