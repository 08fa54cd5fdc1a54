"""The small batches of the architectures' tests serve the layers as well."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "architectures"))
