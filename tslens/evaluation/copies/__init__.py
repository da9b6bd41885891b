"""Copies: how much of what a model writes is taken from its training stories, and how much repeats."""
