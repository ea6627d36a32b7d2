"""All planted bugs, and the edits that leave a kernel right."""

import bugs_gemm  # noqa: F401
import bugs_rings  # noqa: F401
import bugs_cta  # noqa: F401
import bugs_flags  # noqa: F401
import bugs_clusters  # noqa: F401
import bugs_scopes  # noqa: F401
import bugs_bulk  # noqa: F401
import bugs_proxies  # noqa: F401
import bugs_feeds  # noqa: F401
import bugs_turns  # noqa: F401
import bugs_inplace  # noqa: F401
import bugs_locks  # noqa: F401
import bugs_queues  # noqa: F401
import bugs_publish  # noqa: F401
import bugs_order  # noqa: F401
import bugs_tensor  # noqa: F401
import bugs_triton  # noqa: F401
import harmless  # noqa: F401
from table import IDS, bugs, fines  # noqa: F401
