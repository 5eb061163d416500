"""Runs a training under the sampler, in a process of its own, and keeps what was measured.

``runner.run(spec)`` starts ``worker`` in a child, which writes each finished phase at once to a
log; ``assemble`` turns that log into a :class:`foxbench.profile.result.Profile`.  Nothing is
imported here: the worker must not pay for the parent's modules.
"""
