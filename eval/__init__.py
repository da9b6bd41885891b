"""Suites: one TOML per set of prompts with accepted and rejected endings. Data only; installed as tslens.suites."""
