"""Caffe: a net's text and its weights, old layers (V1) and new, as torch modules."""
