"""What a trained planner computes: distances decoded from its summary, its attention, value iteration."""
