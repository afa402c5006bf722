"""Neuron Council: a gate between a claim and a long-term memory."""

from importlib.metadata import version

__version__ = version("neuron-council")
