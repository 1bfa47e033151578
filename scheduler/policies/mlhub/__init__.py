"""The default policy: elastic sizes, prices and packing."""
