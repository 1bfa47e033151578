# SPDX-License-Identifier: Apache-2.0
"""What runs inside the sandbox on strangers' uploads: inspection of files, dry runs of jobs, trials of models."""

INSPECT = ("-m", "mlhub.runtime.inspection.inspect")  # the arguments of Python that start it
