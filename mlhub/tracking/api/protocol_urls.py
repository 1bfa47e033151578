# SPDX-License-Identifier: Apache-2.0
"""MLflow's addresses, relative to a tracking URI: the platform's own, or that of the pods of an attempt."""

from django.urls import path

from mlhub.tracking.api import (
    experiment_changes,
    experiments,
    files,
    logged_models,
    multipart,
    registry,
    registry_versions,
    runs,
    unknown,
)

MLFLOW, ARTIFACTS = "api/2.0/mlflow", "api/2.0/mlflow-artifacts"

registered_models = [
    path(f"{MLFLOW}/registered-models/create", registry.RegisteredCreateView.as_view()),
    path(f"{MLFLOW}/registered-models/get", registry.RegisteredGetView.as_view()),
    path(f"{MLFLOW}/registered-models/update", registry.RegisteredUpdateView.as_view()),
    path(f"{MLFLOW}/registered-models/rename", registry.RegisteredRenameView.as_view()),
    path(f"{MLFLOW}/registered-models/delete", registry.RegisteredDeleteView.as_view()),
    path(f"{MLFLOW}/registered-models/search", registry.RegisteredSearchView.as_view()),
    path(f"{MLFLOW}/registered-models/get-latest-versions", registry.RegisteredLatestVersionsView.as_view()),
    path(f"{MLFLOW}/registered-models/alias", registry.RegisteredAliasView.as_view()),
    path(f"{MLFLOW}/registered-models/set-tag", registry.RegisteredTagView.as_view()),
    path(f"{MLFLOW}/registered-models/delete-tag", registry.RegisteredTagView.as_view()),
    path(f"{MLFLOW}/model-versions/create", registry_versions.RegisteredVersionCreateView.as_view()),
    path(f"{MLFLOW}/model-versions/get", registry_versions.RegisteredVersionGetView.as_view()),
    path(f"{MLFLOW}/model-versions/get-download-uri", registry_versions.RegisteredVersionDownloadUriView.as_view()),
    path(f"{MLFLOW}/model-versions/update", registry_versions.RegisteredVersionUpdateView.as_view()),
    path(f"{MLFLOW}/model-versions/transition-stage", registry_versions.RegisteredVersionStageView.as_view()),
    path(f"{MLFLOW}/model-versions/delete", registry_versions.RegisteredVersionDeleteView.as_view()),
    path(f"{MLFLOW}/model-versions/search", registry_versions.RegisteredVersionSearchView.as_view()),
    path(f"{MLFLOW}/model-versions/set-tag", registry_versions.RegisteredVersionTagView.as_view()),
    path(f"{MLFLOW}/model-versions/delete-tag", registry_versions.RegisteredVersionTagView.as_view()),
]

logged = [
    path(f"{MLFLOW}/logged-models", logged_models.LoggedCreateView.as_view()),
    path(f"{MLFLOW}/logged-models/search", logged_models.LoggedSearchView.as_view()),
    path(f"{MLFLOW}/logged-models/<str:model_id>", logged_models.LoggedModelView.as_view()),
    path(f"{MLFLOW}/logged-models/<str:model_id>/params", logged_models.LoggedParamsView.as_view()),
    path(f"{MLFLOW}/logged-models/<str:model_id>/tags", logged_models.LoggedTagsView.as_view()),
    path(f"{MLFLOW}/logged-models/<str:model_id>/tags/<path:key>", logged_models.LoggedTagView.as_view()),
    path(f"{MLFLOW}/logged-models/<str:model_id>/artifacts/directories", logged_models.LoggedFilesView.as_view()),
    path(f"{MLFLOW}/runs/outputs", logged_models.LoggedOutputsView.as_view()),
    path(f"{MLFLOW}/runs/log-model", runs.LogModelView.as_view()),
]

urlpatterns = [
    path(f"{MLFLOW}/experiments/get-by-name", experiments.ExperimentGetByNameView.as_view()),
    path(f"{MLFLOW}/experiments/get", experiments.ExperimentGetView.as_view()),
    path(f"{MLFLOW}/experiments/create", experiments.ExperimentCreateView.as_view()),
    path(f"{MLFLOW}/experiments/search", experiments.ExperimentSearchView.as_view()),
    path(f"{MLFLOW}/experiments/update", experiment_changes.ExperimentUpdateView.as_view()),
    path(f"{MLFLOW}/experiments/delete", experiment_changes.ExperimentDeleteView.as_view()),
    path(f"{MLFLOW}/experiments/restore", experiment_changes.ExperimentRestoreView.as_view()),
    path(f"{MLFLOW}/experiments/set-experiment-tag", experiment_changes.ExperimentSetTagView.as_view()),
    path(f"{MLFLOW}/experiments/delete-experiment-tag", experiment_changes.ExperimentDeleteTagView.as_view()),
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
    path(f"{ARTIFACTS}/presigned/<path:path>", multipart.DownloadAddressView.as_view()),
    path(f"{ARTIFACTS}/mpu/create/<path:folder>", multipart.MultipartCreateView.as_view()),
    path(f"{ARTIFACTS}/mpu/parts/<uuid:upload_id>/<int:number>", multipart.PartView.as_view()),
    path(f"{ARTIFACTS}/mpu/complete/<path:folder>", multipart.MultipartCompleteView.as_view()),
    path(f"{ARTIFACTS}/mpu/abort/<path:folder>", multipart.MultipartAbortView.as_view()),
    path(f"{MLFLOW}/artifacts/list", files.RunListView.as_view()),
    *logged,
    *registered_models,
    path(f"{MLFLOW}/<path:path>", unknown.UnknownView.as_view()),
    path("api/3.0/mlflow/server-info", multipart.ServerInfoView.as_view()),
    path("api/3.0/mlflow/<path:path>", unknown.UnknownView.as_view()),
]
