"""Where nothing is lost: verdicts with their evidence, claims to be judged again, and what people decided."""
