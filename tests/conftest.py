"""How examples are made everywhere: no verdict hangs on how busy the machine is."""

from hypothesis import HealthCheck, settings

# The first example in a new checkout builds tables of characters, which may take seconds.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("anywhere")
