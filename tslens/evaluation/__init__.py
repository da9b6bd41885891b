"""How good a model is at stories: each question in a module of its own."""
