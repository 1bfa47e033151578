"""Keras: the configuration of layers, their weights in HDF5, and each layer as torch modules, channels first."""
