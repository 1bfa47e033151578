# SPDX-License-Identifier: Apache-2.0
"""MLflow's addresses, relative to a tracking URI: the platform's own, or that of the pods of an attempt."""

from django.urls import path

from mlhub.tracking.api import experiments, files, runs, unknown

MLFLOW, ARTIFACTS = "api/2.0/mlflow", "api/2.0/mlflow-artifacts"

urlpatterns = [
    path(f"{MLFLOW}/experiments/get-by-name", experiments.ExperimentGetByNameView.as_view()),
    path(f"{MLFLOW}/experiments/get", experiments.ExperimentGetView.as_view()),
    path(f"{MLFLOW}/experiments/create", experiments.ExperimentCreateView.as_view()),
    path(f"{MLFLOW}/experiments/search", experiments.ExperimentSearchView.as_view()),
    path(f"{MLFLOW}/runs/create", runs.CreateView.as_view()),
    path(f"{MLFLOW}/runs/get", runs.GetView.as_view()),
    path(f"{MLFLOW}/runs/update", runs.UpdateView.as_view()),
    path(f"{MLFLOW}/runs/delete", runs.DeleteView.as_view()),
    path(f"{MLFLOW}/runs/restore", runs.RestoreView.as_view()),
    path(f"{MLFLOW}/runs/search", runs.SearchView.as_view()),
    path(f"{MLFLOW}/runs/log-batch", runs.LogView.as_view()),
    path(f"{MLFLOW}/runs/log-metric", runs.LogMetricView.as_view()),
    path(f"{MLFLOW}/runs/log-parameter", runs.LogParameterView.as_view()),
    path(f"{MLFLOW}/runs/log-inputs", runs.LogInputsView.as_view()),
    path(f"{MLFLOW}/runs/set-tag", runs.SetTagView.as_view()),
    path(f"{MLFLOW}/runs/delete-tag", runs.DeleteTagView.as_view()),
    path(f"{MLFLOW}/metrics/get-history", runs.HistoryView.as_view()),
    path(f"{ARTIFACTS}/artifacts", files.ListView.as_view()),
    path(f"{ARTIFACTS}/artifacts/<path:path>", files.FileView.as_view()),
    path(f"{MLFLOW}/logged-models/search", unknown.NoLoggedModelsView.as_view()),
    path(f"{MLFLOW}/<path:path>", unknown.UnknownView.as_view()),
    path("api/3.0/mlflow/<path:path>", unknown.UnknownView.as_view()),
]
