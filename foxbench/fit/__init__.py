"""The largest batch, or other size, whose training fits a limit of memory.

Predicted by the analytic account where the model has one, and confirmed by trainings under a real
limit: the size named ran inside it, and one a little larger did not.
"""
