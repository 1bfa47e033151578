# SPDX-License-Identifier: Apache-2.0
"""A session of MLflow's unchanged client with models, as a program: any version of the client runs it.

It needs pandas, which the client imports where it logs a model. It prints "done" when everything was as it should.
The server is named by MLFLOW_TRACKING_URI.
"""

from __future__ import annotations

import json
import types
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from mlflow.models import Model

IS_THREE = int(mlflow.__version__.split(".")[0]) >= 3
NAME = f"net-{mlflow.__version__}"


def save_model(path, weights, mlflow_model=None, **_):
    """What a flavour does: files, and the description that names them."""
    folder = Path(path)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / "weights.json").write_text(json.dumps(weights))
    mlflow_model = mlflow_model or Model()
    mlflow_model.add_flavor("table", data="data/weights.json")
    mlflow_model.save(str(folder / "MLmodel"))


FLAVOUR = types.SimpleNamespace(save_model=save_model, __name__="table")


def log_model(weights, **options):
    named = {"artifact_path": None, "name": "net"} if IS_THREE else {"artifact_path": "net"}
    return Model.log(flavor=FLAVOUR, weights=weights, **named, **options)


def loaded(uri):
    folder = Path(mlflow.artifacts.download_artifacts(uri))
    flavour = Model.load(str(folder / "MLmodel")).flavors["table"]
    return json.loads((folder / flavour["data"]).read_text())


def check(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def main():
    client = MlflowClient()
    mlflow.set_experiment("vision")
    with mlflow.start_run(run_name="first") as run:
        info = log_model([1, 2], registered_model_name=NAME)
        mlflow.log_metric("accuracy", 0.5)
    check(loaded(info.model_uri), [1, 2])
    check(loaded(f"runs:/{run.info.run_id}/net"), [1, 2])
    check(loaded(f"models:/{NAME}/1"), [1, 2])
    if IS_THREE:
        check([output.model_id for output in mlflow.get_run(run.info.run_id).outputs.model_outputs], [info.model_id])
        model = mlflow.get_logged_model(info.model_id)
        check((model.name, str(model.status), model.source_run_id), ("net", "READY", run.info.run_id))
        client.set_logged_model_tags(info.model_id, {"note": "good", "old": "1"})
        client.delete_logged_model_tag(info.model_id, "old")
        mlflow.log_metric("f1", 0.25, step=3, run_id=run.info.run_id, model_id=info.model_id)
        found = mlflow.search_logged_models(
            experiment_ids=[run.info.experiment_id],
            filter_string="name = 'net' AND metrics.f1 > 0.2 AND tags.note = 'good'",
            order_by=[{"field_name": "metrics.f1", "ascending": False}], output_format="list",
        )  # fmt: skip
        metrics = {metric.key: metric.value for metric in found[0].metrics}
        check(([one.model_id for one in found], metrics), ([info.model_id], {"accuracy": 0.5, "f1": 0.25}))
        check("old" in found[0].tags, False)

    with mlflow.start_run(run_name="second") as second:
        log_model([3])
    version = mlflow.register_model(f"runs:/{second.info.run_id}/net", NAME, tags={"kind": "small"})
    check((version.version, version.status), (version.version, "READY"))
    check(int(version.version), 2)
    client.set_registered_model_alias(NAME, "champion", "1")
    check(loaded(f"models:/{NAME}@champion"), [1, 2])
    client.set_registered_model_alias(NAME, "champion", "2")
    check(loaded(f"models:/{NAME}@champion"), [3])
    check(client.get_model_version_by_alias(NAME, "champion").run_id, second.info.run_id)
    check(dict(client.get_registered_model(NAME).aliases), {"champion": "2"})
    client.delete_registered_model_alias(NAME, "champion")
    refused(lambda: client.get_model_version_by_alias(NAME, "champion"), "RESOURCE_DOES_NOT_EXIST")

    client.update_registered_model(NAME, description="A net.")
    client.set_registered_model_tag(NAME, "team", "red")
    client.set_registered_model_tag(NAME, "gone", "1")
    client.delete_registered_model_tag(NAME, "gone")
    client.update_model_version(NAME, "2", description="The second.")
    client.set_model_version_tag(NAME, "2", "checked", "yes")
    client.delete_model_version_tag(NAME, "2", "kind")
    model, version = client.get_registered_model(NAME), client.get_model_version(NAME, "2")
    check((model.description, model.tags), ("A net.", {"team": "red"}))
    check((version.description, version.tags), ("The second.", {"checked": "yes"}))
    names = [one.name for one in client.search_registered_models(f"name = '{NAME}' AND tags.team = 'red'")]
    check(names, [NAME])
    found = client.search_model_versions(f"name = '{NAME}'", order_by=["version_number DESC"])
    check([int(one.version) for one in found], [2, 1])
    found = client.search_model_versions(f"run_id = '{second.info.run_id}'")
    check([(one.name, int(one.version)) for one in found], [(NAME, 2)])

    client.transition_model_version_stage(NAME, "1", "Production")
    check(
        client.transition_model_version_stage(NAME, "2", "Production", archive_existing_versions=True).current_stage,
        "Production",
    )
    check(client.get_model_version(NAME, "1").current_stage, "Archived")
    check(loaded(f"models:/{NAME}/Production"), [3])
    check([int(one.version) for one in client.get_latest_versions(NAME, ["Production"])], [2])
    copied = client.copy_model_version(f"models:/{NAME}/1", f"{NAME}-copy")
    check(loaded(f"models:/{copied.name}/{copied.version}"), [1, 2])

    client.rename_registered_model(NAME, f"{NAME}-b")
    refused(lambda: client.get_registered_model(NAME), "RESOURCE_DOES_NOT_EXIST")
    client.transition_model_version_stage(f"{NAME}-b", "2", "None")
    client.delete_model_version(f"{NAME}-b", "2")
    check(loaded(f"models:/{NAME}-b/latest"), [1, 2])
    client.delete_registered_model(f"{NAME}-copy")
    refused(lambda: client.get_registered_model(f"{NAME}-copy"), "RESOURCE_DOES_NOT_EXIST")
    refused(lambda: client.create_registered_model(f"{NAME}-b"), "RESOURCE_ALREADY_EXISTS")
    refused(lambda: mlflow.register_model("s3://elsewhere/model", f"{NAME}-c"), "INVALID_PARAMETER_VALUE")

    client.set_experiment_tag(run.info.experiment_id, "topic", "digits")
    check(mlflow.get_experiment_by_name("vision").tags["topic"], "digits")
    client.delete_run(second.info.run_id)
    check(client.get_run(second.info.run_id).info.lifecycle_stage, "deleted")
    client.restore_run(second.info.run_id)
    check(client.get_run(second.info.run_id).info.lifecycle_stage, "active")
    print("done")


def refused(act, code):
    try:
        act()
    except MlflowException as error:
        check(error.error_code, code)
    else:
        raise AssertionError("it was not refused")


if __name__ == "__main__":
    main()
