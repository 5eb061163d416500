"""Does it leak?  From gauges read after each step, or a command's timeline, to a verdict.

``statistics`` and ``rule`` know numbers only; ``readings`` takes them from a log or a timeline;
``verdict`` combines the gauges; ``training`` and ``command`` run what is judged; ``result`` and
``report`` say what was found.
"""
