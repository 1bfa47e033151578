# SPDX-License-Identifier: Apache-2.0
"""An ordinary CSV is uploaded once: its columns are described and chosen afterwards, without another upload."""

from __future__ import annotations

import pytest

from mlhub.datasets import tasks
from mlhub.datasets.models import DatasetVersion
from mlhub.events.models import Event
from mlhub.storage.actions import used_bytes
from tests.datasets import files
from tests.datasets.test_inspection import inspected
from tests.jobs.builders import builtin

pytestmark = pytest.mark.slow


def chosen(person, version, **choice):
    """The version that a choice of columns gives, after its inspection."""
    answer = person.post(f"/api/v1/dataset-versions/{version['id']}/columns", choice, format="json")
    assert answer.status_code == 200, answer.json()
    tasks.inspect_version(answer.json()["id"])
    return person.get(f"/api/v1/dataset-versions/{answer.json()['id']}").json()


def column(version, name):
    return next(column for column in version["statistics"]["columns"] if column["name"] == name)


@pytest.mark.slow
def test_a_table_without_a_clear_target_is_kept_and_takes_the_choice_itself(cast):
    bob, content = cast.client(cast.bob), files.customers()
    version = inspected(cast, filename="customers.csv", content=content)
    assert (version["state"], version["error"]["code"], version["schema"]) == ("needs_columns", "needs_columns", {})
    assert "customer_id, signup, city" in version["error"]["remedy"]
    assert used_bytes(cast.a) == len(content)
    job = {"project": str(cast.project_a.id), "dataset_version": version["id"], "model_version": str(builtin().id)}
    refused = bob.post("/api/v1/jobs", job, format="json")
    assert refused.status_code == 422
    assert "choice of its columns" in str(refused.json())

    ready = chosen(bob, version, target="churned")
    assert (ready["id"], ready["state"], ready["error"]) == (version["id"], "ready", None)
    roles = {each["name"]: each["role"] for each in ready["statistics"]["columns"]}
    assert [name for name, role in roles.items() if role == "ignored"] == ["customer_id", "source"]
    assert roles["churned"] == "target"
    assert Event.objects.filter(kind="dataset.columns_chosen").count() == 1


def test_every_column_is_described_and_all_faults_are_reported_at_once(cast):
    version = inspected(cast, filename="customers.csv", content=files.customers(), target="churn", ignore="cty")
    assert version["state"] == "needs_columns"
    assert {problem["column"] for problem in version["statistics"]["problems"]} == {"churn", "cty"}
    described = {each["name"]: each["type"] for each in version["statistics"]["columns"]}
    assert described == {
        "customer_id": "identifier", "signup": "date", "city": "category", "age": "number", "income": "number",
        "source": "constant", "churned": "category",
    }  # fmt: skip
    assert column(version, "income")["n_missing"] == 20
    assert sum(column(version, "income")["histogram"]["counts"]) == 40
    assert column(version, "signup")["first"] == "2020-01-01T00:00:00"
    assert [top["value"] for top in column(version, "city")["top"]] == ["Oslo", "Rome"]


@pytest.mark.slow
def test_another_choice_of_a_ready_version_is_a_new_version_over_the_same_file(cast, settings):
    bob = cast.client(cast.bob)
    version = inspected(cast, filename="customers.csv", content=files.customers(), target="churned")
    assert version["state"] == "ready"
    added = chosen(
        bob, version, target="income", ignore=["signup"], types={"city": "category"}, missing={"age": "drop"}
    )
    assert (added["state"], added["number"], added["files"]) == ("ready", 2, version["files"])
    assert added["manifest_sha256"] != version["manifest_sha256"]
    assert added["schema"]["task"] == "regression"
    assert [each["name"] for each in added["schema"]["columns"]] == ["city", "age", "churned"]
    assert added["schema"]["n_examples"] == 40 - 4  # 20 have no income; of the others 4 have no age
    assert bob.get(f"/api/v1/dataset-versions/{version['id']}").json() == version
    assert used_bytes(cast.a) == version["size_bytes"]
    same = bob.post(f"/api/v1/dataset-versions/{added['id']}/columns", added["options"], format="json")
    assert same.json()["id"] == added["id"]
    assert bob.delete(f"/api/v1/dataset-versions/{version['id']}").status_code == 204
    assert len([path for path in settings.BLOB_ROOT.rglob("*") if path.is_file()]) == 1


@pytest.mark.slow
def test_a_column_of_few_words_is_taken_as_text_where_that_is_chosen(cast):
    version = inspected(cast, filename="customers.csv", content=files.customers(), target="churned")
    added = chosen(cast.client(cast.bob), version, target="churned", types={"city": "text"})
    assert (added["state"], column(added, "city")["used_as"]) == ("ready", "text")
    assert next(each["words"] for each in added["schema"]["columns"] if each["name"] == "city") == ["oslo", "rome"]
    refused = chosen(cast.client(cast.bob), version, target="churned", types={"income": "text"})
    assert refused["statistics"]["problems"][0]["column"] == "income"


@pytest.mark.slow
def test_a_choice_of_what_is_not_there_is_refused_by_name(cast):
    version = inspected(cast, filename="customers.csv", content=files.customers(), target="churned")
    choices = (
        ({"target": "churn"}, "target"),
        ({"ignore": ["churned", "nothing"]}, "ignore"),
        ({"types": {"nothing": "number"}}, "types"),
        ({"missing": {"age": "guess"}}, "missing.age"),
        ({"colour": "red"}, "colour"),
    )
    for choice, field in choices:
        answer = cast.client(cast.bob).post(f"/api/v1/dataset-versions/{version['id']}/columns", choice, format="json")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert DatasetVersion.objects.count() == 1


def test_columns_are_chosen_by_members_of_the_organisation_alone(cast):
    version = inspected(cast, filename="customers.csv", content=files.customers())
    address = f"/api/v1/dataset-versions/{version['id']}/columns"
    answer = cast.client(cast.charlie).post(address, {"target": "churned"}, format="json")
    assert answer.status_code == 404
    assert DatasetVersion.objects.get().state == "needs_columns"


def test_what_has_no_columns_offers_no_choice(cast):
    version = inspected(cast, filename="x.txt", content=files.text())
    answer = cast.client(cast.bob).post(f"/api/v1/dataset-versions/{version['id']}/columns", {}, format="json")
    assert answer.status_code == 422
    assert "csv and parquet" in str(answer.json())


def test_constant_numbers_are_kept_since_a_model_may_count_on_their_places(cast):
    content = "corner,pixel,word,y\n" + "".join(f"0,{i}.5,same,{i % 2}\n" for i in range(60))
    version = inspected(cast, filename="pixels.csv", content=content.encode(), target="y")
    assert version["state"] == "ready"
    roles = {each["name"]: each["role"] for each in version["statistics"]["columns"]}
    assert roles == {"corner": "feature", "pixel": "feature", "word": "ignored", "y": "target"}


@pytest.mark.slow
def test_a_column_chosen_as_the_split_holds_its_rows_out_of_training(cast):
    bob = cast.client(cast.bob)
    rows = b"".join(b"%d,s%d,%s\n" % (i, i % 2, b"train" if i % 4 else b"test") for i in range(40))
    version = inspected(cast, filename="measured.csv", content=b"width,species,part\n" + rows, target="species")
    assert "n_held_out" not in version["schema"]
    added = chosen(bob, version, target="species", types={"part": "split"})
    assert (added["state"], added["schema"]["split"], added["schema"]["n_held_out"]) == ("ready", "part", 10)
    assert column(added, "part")["role"] == "split"
    assert column(added, "part")["treatment"] == "Held out of training: the rows with test. Trained on: train."
    job = {"project": str(cast.project_a.id), "dataset_version": added["id"], "model_version": str(builtin().id)}
    asked = {**job, "hyperparameters": {"validation_fraction": 0.1}}
    refused = bob.post("/api/v1/jobs", asked, format="json")
    assert refused.status_code == 422
    assert "test part of its own, of 10 examples" in str(refused.json())


@pytest.mark.slow
def test_a_split_with_unknown_parts_waits_for_another_choice(cast):
    content = b"width,species,part\n" + b"".join(b"%d,s%d,fold%d\n" % (i, i % 2, i % 3) for i in range(40))
    version = inspected(cast, filename="measured.csv", content=content, target="species")
    added = chosen(cast.client(cast.bob), version, target="species", types={"part": "split"})
    assert (added["state"], added["error"]["field"]) == ("needs_columns", "part")
    assert "'fold0', 'fold1', 'fold2'" in added["error"]["message"]
    assert "train, validation or test" in added["error"]["remedy"]


@pytest.mark.slow
def test_a_table_that_is_not_utf_8_is_read_as_spreadsheets_save_it_and_says_so(cast):
    content = (
        files.sales().decode("utf-8-sig").replace("Menge", "Stückzahl").replace("nein", "möglich").encode("cp1252")
    )
    version = inspected(cast, filename="sales.csv", content=content, target="Storno")
    assert (version["state"], version["statistics"]["encoding"]) == ("ready", "Windows-1252 (Western European)")
    assert column(version, "Stückzahl")["type"] == "number"
    assert {top["value"] for top in column(version, "Storno")["top"]} == {"ja", "möglich"}
    assert version["schema"]["classes"] == ["ja", "möglich"]


@pytest.mark.slow
def test_numbers_with_a_decimal_comma_are_found_shown_and_can_be_read_otherwise(cast):
    bob = cast.client(cast.bob)
    version = inspected(cast, filename="sales.csv", content=files.sales(), target="Storno")
    assert version["state"] == "ready"
    shown = {each["name"]: (each["type"], each.get("number_format")) for each in version["statistics"]["columns"]}
    assert shown == {
        "Nummer": ("identifier", None), "Datum": ("date", None), "Umsatz": ("number", "comma"),
        "Menge": ("number", None), "Storno": ("category", None),
    }  # fmt: skip
    assert column(version, "Umsatz")["readings"] == {"text": "3.102,5", "point": None, "comma": 3102.5}
    assert version["schema"]["number_formats"] == {"Umsatz": "comma"}
    spec = next(each for each in version["schema"]["columns"] if each["name"] == "Umsatz")
    assert (spec["kind"], spec["number_format"], spec["indicator"]) == ("number", "comma", True)
    choice = {"target": "Storno", "numbers": {"Umsatz": "point"}}
    waiting = chosen(bob, version, **choice)
    assert (waiting["state"], waiting["number"], waiting["error"]["field"]) == ("needs_columns", 2, "Umsatz")
    assert "no numbers with a decimal point" in waiting["error"]["message"]
    ready = chosen(bob, waiting, target="Storno", numbers={"Umsatz": "comma"})
    assert (ready["state"], ready["id"]) == ("ready", waiting["id"])
    assert ready["schema"]["number_formats"] == {"Umsatz": "comma"}


@pytest.mark.slow
def test_a_number_format_is_for_csv_and_for_columns_that_are_there(cast):
    bob = cast.client(cast.bob)
    version = inspected(cast, filename="sales.csv", content=files.sales(), target="Storno")
    stored = inspected(cast, filename="x.parquet", content=files.parquet(), target="y", name="stored")
    choices = (
        (version, {"numbers": {"nothing": "comma"}}, "numbers"),
        (version, {"numbers": {"Umsatz": "dot"}}, "numbers.Umsatz"),
        (stored, {"numbers": {"a": "comma"}}, "numbers"),
    )
    for of_version, choice, field in choices:
        answer = bob.post(f"/api/v1/dataset-versions/{of_version['id']}/columns", choice, format="json")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert "stores numbers as such" in str(answer.json())
    address = f"/api/v1/dataset-versions/{version['id']}/columns"
    foreign = cast.client(cast.charlie).post(address, {"numbers": {"Umsatz": "comma"}}, format="json")
    assert foreign.status_code == 404
