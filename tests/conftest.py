"""What all tests start from."""

import jax

# Commands that train split the CPU into devices, if JAX is not in use yet: tests must not depend on which of
# them is first.
jax.devices()
