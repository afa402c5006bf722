"""JSON-RPC over stdio: frames, messages, methods and the life of the process that serves them."""
