"""Recipes: one TOML per model that was chosen to be trained. Data only; installed as tslens.recipes."""
