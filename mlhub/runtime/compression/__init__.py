"""Gradients in fewer bytes: codecs, dithering, bit packing."""
