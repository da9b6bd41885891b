"""Training: an objective, an optimizer, data and checkpoints, composed by a loop and chosen by a recipe."""
