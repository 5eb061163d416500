"""asv results -> series -> noise bands -> changes.  Imports neither torch nor the sampler."""
