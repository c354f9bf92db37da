"""The paper's other agents: recurrent, with and without memories they learn to write."""
