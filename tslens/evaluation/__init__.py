"""Evaluation of models: loss on stories, and suites of prompts."""
