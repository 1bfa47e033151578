"""The models that MLHub ships: each a module that keeps the contract, as a user's package does."""

BUILTINS = ("mlp", "small_cnn", "tiny_transformer")
