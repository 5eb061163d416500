"""The configurations of the models and of the agent, one a file; none of them imports torch.

A config is a frozen dataclass with a line on each field and a ``check(data)`` that runs before
torch is imported and lists *every* mismatch with the data, so that one run mends them all.
"""

from foxbench.models.configs.agent import AgentConfig
from foxbench.models.configs.dqn import DqnConfig
from foxbench.models.configs.mamba2 import Mamba2Config
from foxbench.models.configs.ppo import PpoConfig
from foxbench.models.configs.tft import TftConfig

__all__ = ["AgentConfig", "DqnConfig", "Mamba2Config", "PpoConfig", "TftConfig"]
