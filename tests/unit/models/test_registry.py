"""Names lead to configs without torch, and to trainers after the check."""

import dataclasses

import pytest

from foxbench.errors import ConfigError, UsageError
from foxbench.models import registry
from foxbench.models.configs import DqnConfig
from foxbench.models.protocol import Trainer

SMALL = {
    "dqn": {"hidden": (16,), "batch": 4, "warmup": 50, "capacity": 60},
    "ppo": {"hidden": (16,), "n_steps": 32, "minibatch": 8, "epochs": 1},
}


def test_every_registered_config_is_a_frozen_dataclass_with_a_seed():
    for name in registry.names():
        config = registry.config(name)
        assert dataclasses.is_dataclass(config)
        assert config.seed == 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.seed = 2


def test_settings_replace_the_defaults():
    assert registry.config("dqn", batch=32) == DqnConfig(batch=32)


def test_an_unknown_model_is_refused_with_the_known_names():
    with pytest.raises(UsageError, match=r"'dqm'[\s\S]*dqn, ppo, mamba2, tft"):
        registry.config("dqm")


def test_every_unknown_setting_is_named():
    with pytest.raises(ConfigError) as error:
        registry.config("ppo", batch=3, gama=0.9)
    assert error.value.mismatches == ("unknown setting 'batch'", "unknown setting 'gama'")
    assert "gamma" in error.value.remedy


@pytest.mark.parametrize("name", SMALL)
def test_a_built_model_keeps_the_protocol(name, small_market):
    trainer = registry.build(name, small_market, registry.config(name, **SMALL[name]))
    assert isinstance(trainer, Trainer)
    assert isinstance(trainer.step(), float)
    assert set(trainer.bytes()) == {"params", "grads", "optimizer", "buffers", "data"}
    assert {"loss", "reward_per_bar"} <= set(trainer.evaluate())
    assert trainer.infer() in (-1, 0, 1)
    assert trainer.steps_per_epoch() >= 1


def test_a_config_that_does_not_fit_is_refused_before_anything_is_built(small_market):
    with pytest.raises(ConfigError, match="input_dim 12 != features 12 \\+ position 1 = 13"):
        registry.build("dqn", small_market, registry.config("dqn", input_dim=12))


def test_configs_and_their_checks_need_no_torch(fresh_process):
    found = fresh_process(
        "import json, sys; import numpy as np\n"
        "from foxbench.errors import ConfigError\n"
        "from foxbench.models import configs, data, protocol, registry\n"
        "s = data.Series('ES', np.zeros((9, 2), np.float32), ('a', 'b'),\n"
        "                np.zeros(9, np.float32), np.zeros(5, np.float32))\n"
        "refused = []\n"
        "for name in registry.names():\n"
        "    try: registry.build(name, data.MarketData((s,)), registry.config(name, batch=0)\n"
        "                        if name != 'ppo' else None)\n"
        "    except ConfigError: refused.append(name)\n"
        "print(json.dumps({'refused': refused, 'torch': 'torch' in sys.modules}))"
    )
    assert found == {"refused": list(registry.names()), "torch": False}
