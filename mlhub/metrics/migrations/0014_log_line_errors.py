# SPDX-License-Identifier: Apache-2.0
"""An index of the log lines that hold an error, made while pods go on writing.

A migration that is killed leaves an index without effect, which the next try makes anew.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

HINT = "rror|xception|ERROR|CRITICAL|FATAL|Traceback|CU|NCCL|device-side|Watchdog|fault"
PATTERN = "|".join(
    (
        r"Traceback \(most recent call last\)",
        r"(Error|Exception): *([^-+0-9. ]|$)",
        r"^(\[[a-z0-9]+\]: )?[A-Za-z_.]*[a-z](Error|Exception)$",
        r"(^|[^A-Za-z0-9_])(ERROR|CRITICAL|FATAL)([^A-Za-z0-9_=]|$)",
        r"CUDA error|CUDA out of memory|CUDNN_STATUS_[A-RT-Z]|CUBLAS_STATUS_[A-RT-Z]|device-side assert",
        r"NCCL (WARN|[Ee]rror)|nccl[A-Z][A-Za-z]*Error|Watchdog caught collective",
        r"Segmentation fault|Fatal Python error",
    )
)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("metrics", "0013_detached_rows")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS log_line_error", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="logline",
            index=models.Index(
                condition=models.Q(("text__regex", HINT), ("text__regex", PATTERN)),
                fields=["attempt", "seq"],
                name="log_line_error",
            ),
        ),
    ]
