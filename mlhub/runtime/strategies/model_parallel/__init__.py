"""Strategies that divide the model itself: tensors, optimiser and parameters, layers."""
