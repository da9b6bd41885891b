"""The questions: one module each, and none knows another."""
