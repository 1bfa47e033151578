"""The parameter server: own frames over TCP, tensors as flat float32. frames < handshake < layout < server, client."""
