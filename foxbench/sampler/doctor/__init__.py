"""``foxbench doctor``: which sources of measurement work on this machine, and why one does not.

One file a group of checks; :data:`foxbench.sampler.doctor.examine.GROUPS` lists them.
"""
