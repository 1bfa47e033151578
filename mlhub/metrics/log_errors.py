# SPDX-License-Identifier: Apache-2.0
"""Which lines of a log hold an error. PostgreSQL decides it, by patterns that it keeps an index of.

The index has only the lines that match, so that they are found and counted without a look at the others. A change of
a pattern needs a migration, which makes the index anew.
"""

from __future__ import annotations

from django.db.models import Q

# of every line with an error: on other lines it costs a fifth of the other pattern, which is not tried then
HINT_PATTERN = "rror|xception|ERROR|CRITICAL|FATAL|Traceback|CU|NCCL|device-side|Watchdog|fault"
ERROR_PATTERN = "|".join(
    (
        r"Traceback \(most recent call last\)",
        r"(Error|Exception): *([^-+0-9. ]|$)",  # ValueError: ..., but not a metric such as "Mean Error: 0.3"
        r"^(\[[a-z0-9]+\]: )?[A-Za-z_.]*[a-z](Error|Exception)$",
        r"(^|[^A-Za-z0-9_])(ERROR|CRITICAL|FATAL)([^A-Za-z0-9_=]|$)",  # a level
        r"CUDA error|CUDA out of memory|CUDNN_STATUS_[A-RT-Z]|CUBLAS_STATUS_[A-RT-Z]|device-side assert",
        r"NCCL (WARN|[Ee]rror)|nccl[A-Z][A-Za-z]*Error|Watchdog caught collective",
        r"Segmentation fault|Fatal Python error",
    )
)
HOLDS_ERROR = Q(text__regex=HINT_PATTERN) & Q(text__regex=ERROR_PATTERN)  # the condition of the index
# the same in SQL, as the index has it, on a line `l`: another expression would not be answered from the index
IS_ERROR = f"(l.text ~ '{HINT_PATTERN}' AND l.text ~ '{ERROR_PATTERN}')"
