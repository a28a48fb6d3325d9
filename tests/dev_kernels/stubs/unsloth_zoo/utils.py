"""What unsloth's kernels take from a package that is not in their checkout."""
from packaging.version import Version
