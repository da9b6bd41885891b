"""Analyses of heads, neurons and layers, one package each; none imports another."""
