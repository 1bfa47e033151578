# SPDX-License-Identifier: Apache-2.0
"""What an attempt needs and leaves: inputs, environment, dry run, credentials, causes of its end, start-up."""
