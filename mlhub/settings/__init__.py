# SPDX-License-Identifier: Apache-2.0
"""Settings, read from the environment; the embedded default sets every variable, a real deployment sets its own."""

import os
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from mlhub import _installation
from mlhub.core.rate_limits import limits as rate_limits
from mlhub.core.security.certificates import check_authorities
from mlhub.core.structured_logs.logs import logging_settings
from mlhub.core.web.addresses import networks
from mlhub.core.web.headers import CONTENT_SECURITY_POLICY  # noqa: F401 (read by django-csp)
from mlhub.notebooks.addresses import check_origin, usual_origin
from mlhub.settings.api_schema import SPECTACULAR_SETTINGS as SPECTACULAR_SETTINGS
from mlhub.settings.durations import read_seconds
from mlhub.settings.kept_days import read_kept_days
from mlhub.settings.periodic_tasks import CELERY_BEAT_SCHEDULE as CELERY_BEAT_SCHEDULE
from mlhub.settings.secret_values import secret_value, signing_keys
from mlhub.settings.single_sign_on import read_password_users, read_single_sign_on
from mlhub.usage.prices import read_prices

env = environ.Env()
MLHUB_HOME = Path(env("MLHUB_HOME", default=str(_installation.default_home()))).resolve()
# There is no default: the embedded platform makes its own; core/security/secret_key.py refuses to serve without
SECRET_KEY, SECRET_KEY_FALLBACKS = signing_keys(os.environ)
DEBUG = env.bool("MLHUB_DEBUG", default=False)
PUBLIC_URL = env("MLHUB_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
IS_HTTPS = PUBLIC_URL.startswith("https://")
# what Prometheus shows at /metrics; without one: only locally
METRICS_TOKEN = secret_value(os.environ, "MLHUB_METRICS_TOKEN")
POD_IP = env("MLHUB_POD_IP", default="")  # Prometheus asks every pod by its address
OWN_HOSTS = ["127.0.0.1", "localhost", "[::1]", "testserver", urlsplit(PUBLIC_URL).hostname or "localhost"]
ALLOWED_HOSTS = [*env.list("MLHUB_ALLOWED_HOSTS", default=OWN_HOSTS), *([POD_IP] if POD_IP else [])]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
# Whose X-Forwarded-* headers count: addresses or CIDR blocks of the proxies right in front of the web server
try:
    TRUSTED_PROXIES = networks(env.list("MLHUB_TRUSTED_PROXIES", default=[]))
except ValueError as error:
    raise ImproperlyConfigured(f"MLHUB_TRUSTED_PROXIES: {error}; write addresses or CIDR blocks.") from error
# * stands for a notebook: each has an origin of its own; "" = no notebooks
try:
    NOTEBOOK_ORIGIN = check_origin(
        env("MLHUB_NOTEBOOK_ORIGIN", default=usual_origin(PUBLIC_URL)), public_url=PUBLIC_URL
    )
except ValueError as error:
    raise ImproperlyConfigured(f"MLHUB_NOTEBOOK_ORIGIN: {error}.") from error
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")  # both only of trusted proxies: core/web/addresses.py
USE_X_FORWARDED_HOST = True

INSTALLED_APPS = [
    "mlhub.tenants.admin_app.PlatformAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    "mlhub.core",
    "mlhub.tenants",
    "mlhub.clusters",
    "mlhub.events",
    "mlhub.announcements",
    "mlhub.storage",
    "mlhub.environments",
    "mlhub.datasets",
    "mlhub.registry",
    "mlhub.jobs",
    "mlhub.metrics",
    "mlhub.experiments",
    "mlhub.tracking",
    "mlhub.control",
    "mlhub.notebooks",
    "mlhub.recovery",
    "mlhub.retention",
    "mlhub.usage",
    "mlhub.webhooks",
]

MIDDLEWARE = [
    "mlhub.core.web.addresses.trusted_proxies_middleware",
    "mlhub.core.structured_logs.request_logs.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "mlhub.core.web.headers.security_headers_middleware",
    "mlhub.core.languages.middleware.language_middleware",
    "csp.middleware.CSPMiddleware",
    "mlhub.core.rate_limits.middleware.RateLimitMiddleware",
    "mlhub.core.web.dashboard_files.StaticFiles",
    "mlhub.core.web.compression.CompressedAnswers",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "mlhub.tenants.sign_in.impersonation.ImpersonationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "mlhub.core.api.middleware.StrictRequests",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "mlhub.urls"
CSRF_FAILURE_VIEW = "mlhub.core.api.fallbacks.csrf_failure"
ASGI_APPLICATION = "mlhub.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASE_URL = secret_value(os.environ, "DATABASE_URL", default="postgresql://mlhub@127.0.0.1:5432/mlhub")
DATABASES = {"default": environ.Env.db_url_config(DATABASE_URL)}
DATABASES["default"]["ENGINE"] = "mlhub.core.database"
DATABASES["default"]["CONN_MAX_AGE"] = 0
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# connections that a web process keeps open for its next requests; 0: none, as a pooler in front of PostgreSQL may want
IDLE_CONNECTIONS = env.int("MLHUB_IDLE_CONNECTIONS", default=8)
REDIS_URL = secret_value(os.environ, "REDIS_URL", default="redis://127.0.0.1:6379/0")

AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
_VALIDATORS = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_VALIDATORS}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_VALIDATORS}.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": f"{_VALIDATORS}.CommonPasswordValidator"},
    {"NAME": f"{_VALIDATORS}.NumericPasswordValidator"},
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True  # the audit has sign-ins and sign-outs, and is pruned
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # the wait that is shown to people is the real one
AXES_CLIENT_IP_CALLABLE = "mlhub.core.web.addresses.client_address"
AXES_USERNAME_CALLABLE = "mlhub.tenants.sign_in.lockout.counted_name"
# Administrators of the platform have its rights in a browser only with a second factor
REQUIRE_SECOND_FACTOR = env.bool("MLHUB_REQUIRE_SECOND_FACTOR", default=False)
SINGLE_SIGN_ON = read_single_sign_on(env)
PASSWORD_USERS = read_password_users(env, SINGLE_SIGN_ON)  # None: everybody
PASSKEY_SIGN_IN = env.bool("MLHUB_PASSKEY_SIGN_IN", default=PASSWORD_USERS is None)  # else who may use a password
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Browsers then refuse plain HTTP for so long, whatever happens to the certificate: 0 until the administrator is sure
HSTS_SECONDS = env.int("MLHUB_HSTS_SECONDS", default=0)
if HSTS_SECONDS and not IS_HTTPS:
    raise ImproperlyConfigured("MLHUB_HSTS_SECONDS needs an MLHUB_PUBLIC_URL that begins with https://.")

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]  # of answers of the API: docs/decisions/languages.md
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = MLHUB_HOME / "static"
FRONTEND_DIST = _installation.dashboard_build()
WHITENOISE_ROOT = FRONTEND_DIST if FRONTEND_DIST.is_dir() else None
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
# the build writes a hash of their content into the names of these files: what a browser has of them stays right
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/assets/[^/]+-[\w-]{8}\.(?:js|css)$"

DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 2**20
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20
FILE_UPLOAD_TEMP_DIR = None
# JSON bodies: bytes (of people, and of pods, which send batches of log lines) and levels of nesting
MAX_JSON_BYTES = env.int("MLHUB_MAX_JSON_BYTES", default=2**20)
MAX_ROWS_JSON_BYTES = 16 * 2**20  # rows to predict, images among them
MAX_POD_JSON_BYTES = env.int("MLHUB_MAX_POD_JSON_BYTES", default=16 * 2**20)
MAX_JSON_DEPTH = env.int("MLHUB_MAX_JSON_DEPTH", default=32)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "mlhub.tenants.sign_in.authentication.ApiTokenAuthentication",
        "mlhub.tenants.sign_in.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["mlhub.tenants.access_control.permissions.IsAuthenticatedInScope"],
    "DEFAULT_THROTTLE_CLASSES": ["mlhub.tenants.sign_in.rate_limits.RequestThrottle"],
    "DEFAULT_PAGINATION_CLASS": "mlhub.core.paging.pagination.NewestFirst",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "mlhub.core.api.openapi.StrictAutoSchema",
    "DEFAULT_PARSER_CLASSES": ["mlhub.core.api.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "mlhub.core.problems.exception_handler",
    "PAGE_SIZE": 50,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TASK_TIME_LIMIT = 1800
CELERY_TIMEZONE = "UTC"
# workers take from both in turn: sweeps and other periodic work do not wait behind the messages of uploads and jobs
# outgoing: what calls other sites and reads secrets, so that a worker that has uploads inspected needs neither
CELERY_TASK_QUEUES = [Queue("celery"), Queue("sandbox"), Queue("outgoing")]
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_TASK_ROUTES = {
    "mlhub.storage.tasks.work_on_next": {"queue": "sandbox"},
    "mlhub.storage.tasks.work_on_next_outgoing": {"queue": "outgoing"},
    "mlhub.webhooks.tasks.deliver": {"queue": "outgoing"},
    "mlhub.webhooks.tasks.send_mail_notices": {"queue": "outgoing"},
    "mlhub.tenants.tasks.send_password_links": {"queue": "outgoing"},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(MLHUB_HOME / "celerybeat-schedule")

# the mail server, such as smtp+tls://user:password@mail.example.org:587; "" = no mail server
EMAIL_URL = secret_value(os.environ, "MLHUB_EMAIL_URL")
HAS_MAIL_SERVER = bool(EMAIL_URL)
if HAS_MAIL_SERVER:
    globals().update(environ.Env.email_url_config(EMAIL_URL))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env("MLHUB_EMAIL_FROM", default=f"mlhub@{urlsplit(PUBLIC_URL).hostname or 'localhost'}")

# hosts and networks inside the site that webhooks may call, also by plain http; all other addresses must be public
WEBHOOK_ALLOW = env.list("MLHUB_WEBHOOK_ALLOW", default=[])
LONG_WAIT_S = env.float("MLHUB_LONG_WAIT_S", default=1800.0)  # 0 = no notices of jobs that wait

# MLHub's own
# the site's own authorities, in PEM: trusted next to the public ones wherever the platform calls an address
CA_FILE = env.str("MLHUB_CA_FILE", default="")
if CA_FILE:
    try:
        check_authorities(CA_FILE)
    except ValueError as error:
        raise ImproperlyConfigured(f"MLHUB_CA_FILE: {error}.") from error
# data by reference: hosts and networks inside the site that files may be fetched from, also by plain http; folders of
# the site that everybody may read; how long one fetch may take, and how many are under way at a time
DATA_ALLOW = env.list("MLHUB_DATA_ALLOW", default=[])
DATA_FOLDERS = [PurePosixPath(folder) for folder in env.list("MLHUB_DATA_FOLDERS", default=[])]
HUB_URL = env("MLHUB_HUB_URL", default="https://huggingface.co")
FETCH_TIMEOUT_S = env.float("MLHUB_FETCH_TIMEOUT_S", default=1200.0)  # less than CELERY_TASK_TIME_LIMIT
FETCHES_AT_ONCE = env.int("MLHUB_FETCHES_AT_ONCE", default=1)  # a worker does nothing else meanwhile
BLOB_ROOT = Path(env("MLHUB_BLOB_ROOT", default=str(MLHUB_HOME / "blobs")))
# "" = files under BLOB_ROOT; s3://bucket/prefix otherwise. The endpoint of a store that is not Amazon's, and the one
# at which pods reach it ("" = they read through the web)
STORE = env("MLHUB_STORE", default="")
STORE_ENDPOINT = env("MLHUB_STORE_ENDPOINT", default="")
STORE_POD_ENDPOINT = env("MLHUB_STORE_POD_ENDPOINT", default="")
CHECKPOINT_ROOT = Path(env("MLHUB_CHECKPOINT_ROOT", default=str(MLHUB_HOME / "checkpoints")))
SANDBOX_ROOT = MLHUB_HOME / "sandbox"
PROJECT_CACHE_ROOT = MLHUB_HOME / "cache"  # of the local backend: a folder for each project
# uploads of several organisations are run even where the sandbox cannot keep them apart
ALLOW_WEAK_SANDBOX = env.bool("MLHUB_ALLOW_WEAK_SANDBOX", default=False)
MAX_UPLOAD_BYTES = env.int("MLHUB_MAX_UPLOAD_BYTES", default=4 * 2**30)
# of one file that arrives in several requests
MAX_RESUMABLE_UPLOAD_BYTES = env.int("MLHUB_MAX_RESUMABLE_UPLOAD_BYTES", default=64 * 2**30)
BACKEND = env("MLHUB_BACKEND", default="local")
# where uploads are inspected and jobs tried out: local = on the Celery worker's machine; jobs = as Jobs of the cluster
SANDBOX = env.str("MLHUB_SANDBOX", default="jobs" if BACKEND == "kubernetes" else "local")
if SANDBOX not in ("local", "jobs") or (SANDBOX == "jobs" and BACKEND != "kubernetes"):
    raise ImproperlyConfigured(
        f"MLHUB_SANDBOX is {SANDBOX!r}; known: local, and with MLHUB_BACKEND=kubernetes also jobs."
    )
# packages that uploaded code requires: "" = what uv is configured with on this machine; a folder of wheels, alone or
# next to an index, for sites without internet
PACKAGE_INDEX_URL = env("MLHUB_PACKAGE_INDEX_URL", default="")
WHEELHOUSE = env("MLHUB_WHEELHOUSE", default="")
# hosts at which the pages of that index link files, besides itself and those of PyPI and PyTorch: "files.example.org",
# or with another port than 443 "files.example.org:8443"
PACKAGE_HOSTS = tuple(env.list("MLHUB_PACKAGE_HOSTS", default=[]))
# packages without a wheel are built from their source, in the sandbox, where all of it is there; false: wheels alone
BUILD_SOURCES = env.bool("MLHUB_BUILD_SOURCES", default=True)
ENVIRONMENT_ROOT = MLHUB_HOME / "environments"
ENVIRONMENT_TIMEOUT_S = env.float("MLHUB_ENVIRONMENT_TIMEOUT_S", default=900.0)
BUILDS_AT_ONCE = env.int("MLHUB_BUILDS_AT_ONCE", default=1)  # a worker does nothing else meanwhile
MAX_ENVIRONMENT_BYTES = env.int("MLHUB_MAX_ENVIRONMENT_BYTES", default=8 * 2**30)
CLUSTER_FILE = Path(env("MLHUB_CLUSTER_FILE", default=str(_installation.default_cluster_file())))
# auto = GPUs of this machine, where its driver shows some and no cluster file was given, are the local backend's node
GPUS = env.str("MLHUB_GPUS", default="auto")
if GPUS not in ("auto", "none"):
    raise ImproperlyConfigured(f"MLHUB_GPUS is {GPUS!r}; known: auto, none.")
# what a GPU-hour costs, by GPU type ("A100=2.5,*=1"), and in which currency; "" = no cost is shown
try:
    GPU_PRICES = read_prices(env.str("MLHUB_GPU_PRICES", default=""))
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
CURRENCY = env.str("MLHUB_CURRENCY", default="")
JOBS_PER_GPU = env.int("MLHUB_JOBS_PER_GPU", default=1)
if JOBS_PER_GPU < 1:
    raise ImproperlyConfigured(f"MLHUB_JOBS_PER_GPU is {JOBS_PER_GPU}; give 1 (no GPU is shared) or more.")
# pods of the local backend: gang = they reach each other and the ingest API; host = all that this machine reaches
POD_NETWORK = env.str("MLHUB_POD_NETWORK", default="gang")
if POD_NETWORK not in ("gang", "host"):
    raise ImproperlyConfigured(f"MLHUB_POD_NETWORK is {POD_NETWORK!r}; known: gang, host.")
# what the files of a local pod may take of the disk; 0 = as much as it leaves free
POD_DISK_BYTES = env.int("MLHUB_POD_DISK_BYTES", default=0)
if POD_DISK_BYTES < 0:
    raise ImproperlyConfigured(f"MLHUB_POD_DISK_BYTES is {POD_DISK_BYTES}; give 0 (as much as it leaves free) or more.")
LIFELINE = env("MLHUB_LIFELINE", default="")
# processes of the local backend that wait to become pods, with torch imported; 0 = every pod imports it for itself
WARM_WORKERS = env.int("MLHUB_WARM_WORKERS", default=_installation.default_warm_workers())
if WARM_WORKERS < 0:
    raise ImproperlyConfigured(f"MLHUB_WARM_WORKERS is {WARM_WORKERS}; give 0 (pods start cold) or more.")
# between workers and servers: tls, hmac, or auto: tls for gangs on several nodes; all local nodes are one machine
DATA_PLANE = env.str("MLHUB_DATA_PLANE", default="hmac" if BACKEND == "local" else "auto")
if DATA_PLANE not in ("auto", "tls", "hmac"):
    raise ImproperlyConfigured(f"MLHUB_DATA_PLANE is {DATA_PLANE!r}; known: auto, tls, hmac.")
# a machine that is silent for so long is lost
AGENT_LOST_S = read_seconds(env, "MLHUB_AGENT_LOST_S", default=60.0, least=5, most=3600)
# MLHUB_KUBE_<NAME>: a field of mlhub/backends/kubernetes/options.py
KUBERNETES = {
    name.removeprefix("MLHUB_KUBE_").lower(): value
    for name, value in os.environ.items()
    if name.startswith("MLHUB_KUBE_")
}
CONTROL_PERIOD_S = env.float("MLHUB_CONTROL_PERIOD_S", default=2.0)
# without a finished round for so long, scheduling counts as stopped: /healthz/rounds, a banner, an event
ROUNDS_LATE_S = env.float("MLHUB_ROUNDS_LATE_S", default=max(60.0, 10 * CONTROL_PERIOD_S))
# how long the policy lab may simulate for one replay; below Celery's limit of a task
REPLAY_LIMIT_S = read_seconds(env, "MLHUB_REPLAY_LIMIT_S", default=600.0, least=1, most=CELERY_TASK_TIME_LIMIT - 120)
STOP_GRACE_S = env.float("MLHUB_STOP_GRACE_S", default=30.0)
# So long may pods take until all of them run (images are pulled meanwhile), and then until all have joined their gang.
START_TIMEOUT_S = read_seconds(env, "MLHUB_START_TIMEOUT_S", default=600.0, least=10, most=86400)
# A gang that stood still for so long is ended; a script need not report as often as a worker makes steps.
STALL_LIMIT_S = env.float("MLHUB_STALL_LIMIT_S", default=600.0)
SCRIPT_STALL_LIMIT_S = env.float("MLHUB_SCRIPT_STALL_LIMIT_S", default=3600.0)
# A notebook whose JupyterLab has not answered for so long is paused.
NOTEBOOK_SILENT_LIMIT_S = env.float("MLHUB_NOTEBOOK_SILENT_LIMIT_S", default=600.0)
KEPT_DAYS = read_kept_days(env)
# within these a project may choose its own days; 0: no bound
RETENTION_LEAST_DAYS = env.float("MLHUB_RETENTION_LEAST_DAYS", default=0.0)
RETENTION_MOST_DAYS = env.float("MLHUB_RETENTION_MOST_DAYS", default=0.0)
# PostgreSQL's programs for backups; "" = those of the wheel, or of the PATH
PG_BIN = env("MLHUB_PG_BIN", default="")
# Files that a restored database does not know are not removed for so long: they may be of work that is newer
RESTORE_HOLD_DAYS = env.float("MLHUB_RESTORE_HOLD_DAYS", default=30.0)
# what one job may store of what its pods report: mlhub/jobs/limits/ingest_limits.py
MAX_LOG_LINES_PER_S = env.int("MLHUB_MAX_LOG_LINES_PER_S", default=1000)
MAX_LOG_BYTES = env.int("MLHUB_MAX_LOG_BYTES", default=256 * 2**20)
MAX_POINTS_PER_METRIC = env.int("MLHUB_MAX_POINTS_PER_METRIC", default=1_000_000)
MAX_RUNS_PER_PROJECT = env.int("MLHUB_MAX_RUNS_PER_PROJECT", default=100_000)
MAX_POINTS_PER_JOB = env.int("MLHUB_MAX_POINTS_PER_JOB", default=10_000_000)
MAX_METRICS_PER_JOB = env.int("MLHUB_MAX_METRICS_PER_JOB", default=1000)
MAX_WAITING_JOBS_PER_USER = env.int("MLHUB_MAX_WAITING_JOBS_PER_USER", default=1000)
MAX_WAITING_JOBS_PER_ORGANISATION = env.int("MLHUB_MAX_WAITING_JOBS_PER_ORGANISATION", default=5000)
MAX_LIVE_STUDIES_PER_ORGANISATION = env.int("MLHUB_MAX_LIVE_STUDIES_PER_ORGANISATION", default=100)
MAX_PLATFORM_RETRIES = 5
# so many attempts in a row that fail on a node exclude it for a while; 0: never
NODE_EXCLUDE_AFTER = env.int("MLHUB_NODE_EXCLUDE_AFTER", default=3)
if NODE_EXCLUDE_AFTER < 0:
    raise ImproperlyConfigured(f"MLHUB_NODE_EXCLUDE_AFTER is {NODE_EXCLUDE_AFTER}; give a number of attempts, or 0.")

IMPERSONATION_MINUTES = env.float("MLHUB_IMPERSONATION_MINUTES", default=30.0)
if not 1 <= IMPERSONATION_MINUTES <= 480:
    raise ImproperlyConfigured(f"MLHUB_IMPERSONATION_MINUTES is {IMPERSONATION_MINUTES:g}; give minutes from 1 to 480.")
# submissions that one web process works on at a time, shared between organisations; 0: any number
SUBMISSION_SEATS = env.int("MLHUB_SUBMISSION_SEATS", default=1)
# trained models that one web process keeps loaded to be tried out, 0: none; a model that is not used is closed after
PREDICTORS = env.int("MLHUB_PREDICTORS", default=2)
PREDICTOR_IDLE_S = env.float("MLHUB_PREDICTOR_IDLE_S", default=300.0)
# Requests of one token, user, organisation, address or pod: mlhub/core/rate_limits/limits.py
HAS_RATE_LIMITS = env.bool("MLHUB_RATE_LIMITS", default=True)
try:
    RATE_LIMITS = rate_limits.read_rate_limits(
        {
            budget: env.str(rate_limits.setting_of(budget), default=usual) if HAS_RATE_LIMITS else ""
            for budget, usual in rate_limits.DEFAULTS.items()
        }
    )
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error

# json, console, or auto: console in a terminal
try:
    LOGGING = logging_settings(
        form=env("MLHUB_LOG_FORMAT", default="auto"), level=env("MLHUB_LOG_LEVEL", default="INFO").upper()
    )
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
