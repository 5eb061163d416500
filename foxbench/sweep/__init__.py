"""Step peak and time over a grid of settings, each point a training in a process of its own."""
