"""The agents to compare with: the paper's recurrent ones, and a transformer."""
