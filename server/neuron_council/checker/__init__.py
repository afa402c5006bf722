"""The checker: a pure judgement over what a debate left behind, which can ask no model."""
