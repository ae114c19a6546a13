"""State that lives with a key on its lane, and follows the key when the plan changes."""
