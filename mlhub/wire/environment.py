# SPDX-License-Identifier: Apache-2.0
"""Names of the environment variables that a pod is started with; nothing else is passed down."""

from __future__ import annotations

SPEC_PATH = "MLHUB_SPEC"  # path of the PodSpec JSON file
API_URL = "MLHUB_API_URL"  # base address of the ingest API, without a trailing slash
TOKEN_PATH = "MLHUB_TOKEN_FILE"  # file that holds the attempt's bearer token
SECRET_PATH = "MLHUB_GANG_SECRET_FILE"  # file that holds the gang's shared secret (hex), for the HMAC handshake
USER_SECRETS_PATH = "MLHUB_USER_SECRETS_FILE"  # JSON file: the user's secrets by name; absent: none
WORK_DIR = "MLHUB_WORK_DIR"  # writable folder of this pod; the launcher's disk buffer is in it
CACHE_DIR = "MLHUB_CACHE_DIR"  # writable folder that pods of this machine share; absent: the pod makes one of its own
ROLE = "MLHUB_ROLE"  # worker | server
INDEX = "MLHUB_INDEX"  # rank among workers, shard among servers
ATTEMPT_ID = "MLHUB_ATTEMPT_ID"
JOB_ID = "MLHUB_JOB_ID"
SANDBOX_RUN = "MLHUB_SANDBOX_RUN"  # of a Job that makes one run in the sandbox
SERVER_ADDRESSES = "MLHUB_SERVER_ADDRESSES"  # comma-separated host:port, one a shard

OUTPUT_DIR = "MLHUB_OUTPUT_DIR"  # of scripts: folder whose files become artifacts of the job
DATASET = "MLHUB_DATASET"  # of scripts: path of the job's dataset
DATA_DIR = "MLHUB_DATA_DIR"  # of scripts: folder with the files of the job's dataset, archives unpacked
DATASETS = "MLHUB_DATASETS"  # of scripts: folder with one folder for each further dataset, by its name
NOTEBOOK_TOKEN = "MLHUB_NOTEBOOK_TOKEN"  # of notebooks: with which the platform's proxy speaks to the server
DATASET_PREFIX = "MLHUB_DATASET_"  # of scripts: before the upper-case name of a further dataset, whose folder it is

MEMORY_BYTES = "MLHUB_MEMORY_BYTES"  # what the pod may take, where its control group does not say so
CUDA_VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"  # of the local backend's pods: their GPUs by UUID; "" hides all

# What a torchrun-style script expects; set for workers only.
RANK = "RANK"
LOCAL_RANK = "LOCAL_RANK"  # the number of the pod's own GPU among those that it sees
WORLD_SIZE = "WORLD_SIZE"
MASTER_ADDR = "MASTER_ADDR"
MASTER_PORT = "MASTER_PORT"
