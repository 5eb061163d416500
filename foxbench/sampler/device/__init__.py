"""Memory of CUDA devices: NVML from outside, torch's own counters from inside."""
