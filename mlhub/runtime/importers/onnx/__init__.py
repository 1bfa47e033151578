"""ONNX: the messages of its files, its operators as torch modules, and the graph of both."""
