"""The probabilistic side: it calls models and brings back evidence, never an exception."""
