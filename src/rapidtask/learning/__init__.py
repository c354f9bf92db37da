"""Learning: rollouts, V-trace actor-critic, optimisers, checkpoints and logs."""
