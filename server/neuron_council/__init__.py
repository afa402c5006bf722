"""Neuron Council: a gate between a claim and a long-term memory."""

__version__ = "0.1.0"
