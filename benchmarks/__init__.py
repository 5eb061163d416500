"""What foxbench measures of itself: a list of models, data and steps, and nothing of how.

Every class inherits ``time_step``, ``peakmem_step``, ``steppeak_step`` and
``steppeak_first_step`` from :class:`foxbench.suite.StepSuite`.
"""

import foxbench.asv_types  # noqa: F401  teaches asv the steppeak_ type
