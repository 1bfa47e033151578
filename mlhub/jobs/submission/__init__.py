# SPDX-License-Identifier: Apache-2.0
"""What a job asks for: whether it can ever run, its defaults, and later changes of it; by kind of job."""
