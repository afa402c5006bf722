"""What the maker and the checker share: pure types and arithmetic, without a clock, a file or a network."""
