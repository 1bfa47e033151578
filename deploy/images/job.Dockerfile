# An example of an image that jobs bring (`image:` of a job): the platform's runtime image, and packages on top of it.
#   docker build -f deploy/images/job.Dockerfile -t registry.example.org/team/train:1.4 \
#     --build-arg RUNTIME=registry.example.org/mlhub-runtime:0.2.0 --build-arg PACKAGES="einops==0.8.1" .
# Python, /srv/mlhub, PATH and PYTHONPATH must stay as they are: a worker whose runtime lacks or has another version than
# the platform ends at once. Pods run as 10001, with a root file system that they can only read.

ARG RUNTIME=mlhub-runtime:0.2.0
FROM ${RUNTIME}
ARG PACKAGES
USER root
RUN pip install --no-cache-dir ${PACKAGES}
USER 10001:10001
