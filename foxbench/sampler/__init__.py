"""The Python face of the instrument.

=================  ===============================================================
``lowlevel``       one function a C call, errors with remedies
``result``         the frozen contracts: peaks, intervals, timelines, measurements
``measure``        :class:`measure`, the block, decorator and live view
``step``           :func:`step_peak`, the figure of a ``steppeak_`` benchmark
``allocator``      the quiet allocator and :func:`settle`
``provenance``     :func:`capabilities`, what the instrument can do here
=================  ===============================================================

Import from the submodules; this package imports nothing, so that it stays light.
"""
