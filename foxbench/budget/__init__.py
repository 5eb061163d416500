"""Does it fit?  Budgets of memory, what models really need, and the verdict.

``reader`` turns budgets.toml into ``budgets``; ``validation`` trains each model under the
sampler; ``verdict`` judges one profile by one budget, ``coresidence`` says which models fit
beside each other, and ``reports`` holds one format a file.
"""
