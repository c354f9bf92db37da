"""Learning: recipes, rollouts, V-trace actor-critic, optimisers and updates."""
