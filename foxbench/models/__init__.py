"""Four trainers behind one protocol: DQN, PPO, MAMBA-2 and the Temporal Fusion Transformer."""
