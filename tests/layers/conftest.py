"""Makes the small batches of the architectures' tests importable."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "architectures"))
