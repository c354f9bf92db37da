"""Learning: rollouts, V-trace actor-critic, the value-map loss, optimisers, checkpoints and logs."""
