# SPDX-License-Identifier: Apache-2.0
"""Who asks by the MLflow protocol, a person or the pods of an attempt, and which projects, jobs, runs and models they
reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q

from mlhub.core.database.columns import ModelColumns, read_first
from mlhub.core.errors import GoneError, InvalidInputError, NotFoundError
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.querysets import JobQuerySet
from mlhub.registry.models import Model
from mlhub.registry.querysets import ModelQuerySet
from mlhub.tenants.access_control.assignments import Assignment, allows, role_assignments
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.querysets import ProjectQuerySet
from mlhub.tenants.roles import Role
from mlhub.tracking.models import LoggedModel, Run
from mlhub.tracking.querysets import LoggedModelQuerySet, RunQuerySet

DEFAULT_EXPERIMENT = "0"  # MLflow's id of the experiment that a client means when it names none
RELATED = ("project__organisation", "created_by")
RUN, PROJECT = ModelColumns(Run, "r"), ModelColumns(Project, "p")
ORGANISATION, CREATOR = ModelColumns(Organisation, "o"), ModelColumns(User, "u")
EXTERNAL_RUN = f"""
SELECT {RUN.sql}, {PROJECT.sql}, {ORGANISATION.sql}, {CREATOR.sql}
FROM tracking_run r JOIN tenants_project p ON p.id = r.project_id
JOIN tenants_organisation o ON o.id = p.organisation_id JOIN tenants_user u ON u.id = r.created_by_id
WHERE r.id = %s AND r.job_id IS NULL
"""  # noqa: S608 - names of columns
LOGGED_PREFIX = "m-"  # of a logged model's id, which MLflow's clients know it by


@dataclass(frozen=True)
class Caller:
    """attempt: whose pods ask, with the attempt's own credential: they reach their job and the runs that it started.

    roles: the person's in projects, as far as they were asked for; it lives as long as one request.
    """

    user: User
    attempt: Attempt | None = None
    roles: dict[UUID, list[Assignment]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def projects(self) -> ProjectQuerySet:
        if self.attempt is not None:
            return Project.objects.filter(pk=self.attempt.job.project_id)
        return Project.objects.visible_to(self.user)

    @property
    def jobs(self) -> JobQuerySet:
        if self.attempt is not None:
            return Job.objects.filter(pk=self.attempt.job_id)
        return Job.objects.visible_to(self.user)

    @property
    def runs(self) -> RunQuerySet:
        """Runs that are no job's own."""
        if self.attempt is not None:
            return Run.objects.external().filter(parent_job=self.attempt.job_id)
        return Run.objects.external().visible_to(self.user)

    @property
    def logged_models(self) -> LoggedModelQuerySet:
        rows = LoggedModel.objects.select_related(*RELATED)
        if self.attempt is not None:
            return rows.filter(parent_job=self.attempt.job_id)
        return rows.visible_to(self.user)

    @property
    def registered_models(self) -> ModelQuerySet:
        """Models of people: those that MLHub ships are none of the registry. Pods read those of their project."""
        rows = Model.objects.exclude(project=None).select_related(*RELATED)
        if self.attempt is not None:
            return rows.filter(project=self.attempt.job.project_id)
        return rows.visible_to(self.user)

    def project(self, text: str) -> Project:
        """The project of an experiment's id. "0" is the only one that the caller sees. Raises NotFoundError."""
        rows = self.projects.select_related("organisation")
        if text == DEFAULT_EXPERIMENT:
            found = list(rows[:2])
            if len(found) == 1:
                return found[0]
            raise NotFoundError(
                "You see several projects, or none, and no experiment was named.",
                field="experiment_id",
                remedy="Call mlflow.set_experiment with the name of a project, or set MLFLOW_EXPERIMENT_NAME.",
            )
        one: Project | None = rows.filter(pk=uuid_of(text, field="experiment_id")).first()
        if one is None:
            raise NotFoundError(f"There is no experiment {text[:100]} that you may see.", field="experiment_id")
        return one

    def project_named(self, name: str) -> Project | None:
        """The project of that name, or of "organisation/project". In a pod every name means the job's project, so that
        a script may call its experiment as it likes. Raises InvalidInputError for a name of several."""
        rows = self.projects.select_related("organisation")
        if self.attempt is not None:
            return rows.first()
        organisation, _, last = name.rpartition("/")
        found = list(rows.filter(Q(name=name) | Q(name=last, organisation__name=organisation)).order_by("id")[:2])
        if len(found) > 1:
            raise InvalidInputError(
                f"Several projects that you see are called {name}.",
                field="experiment_name",
                remedy=f"Write {found[0].organisation.name}/{name}, with the organisation's name before it.",
            )
        return found[0] if found else None

    def run(self, text: str) -> Run | Job:
        """The run of that id: one from elsewhere, or a job. Raises NotFoundError."""
        pk = uuid_of(text, field="run_id")
        if (logged := self._run_by_role(pk)) is not None:
            return logged
        run: Run | None = self.runs.filter(pk=pk).select_related(*RELATED).first()
        if run is not None:
            return run
        job: Job | None = self.jobs.filter(pk=pk).select_related(*RELATED).first()
        if job is None:
            raise NotFoundError(f"There is no run {text[:100]} that you may see.", field="run_id")
        return job

    def _run_by_role(self, pk: UUID) -> Run | None:
        """A run whose project the person has a role in: found without the rules of what they see, which take longer to
        write as a query than all else that logging a few points takes. None says nothing."""
        if self.attempt is not None:
            return None
        run = _external_run(pk)
        token = self.user.acting_token
        if run is None or (token is not None and token.project_id not in (None, run.project_id)):
            return None
        return run if allows(self._roles_in(run.project), Role.VIEWER) else None

    def _roles_in(self, project: Project) -> list[Assignment]:
        """Read once for a request, which asks several times."""
        if project.pk not in self.roles:
            self.roles[project.pk] = role_assignments(self.user, project)
        return self.roles[project.pk]

    def logged_model(self, text: str) -> LoggedModel:
        """Raises NotFoundError."""
        pk = uuid_of(text.removeprefix(LOGGED_PREFIX), field="model_id")
        found: LoggedModel | None = self.logged_models.filter(pk=pk).first()
        if found is None:
            raise NotFoundError(f"There is no logged model {text[:100]} that you may see.", field="model_id")
        return found

    def require_writer(self, project: Project, *, needed: Role = Role.MEMBER) -> None:
        """Raises NotAllowedError for who may only read or submit; GoneError for pods of an attempt that has ended."""
        if self.attempt is None:
            if not allows(self._roles_in(project), needed):
                require_role(self.user, project, needed)
        elif Attempt.objects.values_list("is_fenced", flat=True).get(pk=self.attempt.pk):
            raise GoneError("This attempt has ended; nothing it reports counts any more.", code="fenced")

    def require_logger(self, target: Run | Job | LoggedModel) -> None:
        """Raises NotAllowedError for who may not log to it: any member logs to a run, but to a job only its creator,
        admins and its own pods. Raises GoneError."""
        if isinstance(target, Job):
            self.require_owner(target)
        else:
            self.require_writer(target.project)

    def require_owner(self, target: Run | Job | LoggedModel) -> None:
        """For what takes something away: only the creator, admins and pods. Raises NotAllowedError, GoneError."""
        if self.attempt is None and target.created_by_id != self.user.pk:
            require_role(self.user, target.project, Role.ADMIN)
        self.require_writer(target.project, needed=_role_for(target))


def _external_run(pk: UUID) -> Run | None:
    """A run that is no job's own, without a look at who may see it, with what RELATED names."""
    found = read_first(EXTERNAL_RUN, [pk], (RUN, PROJECT, ORGANISATION, CREATOR))
    if found is None:
        return None
    run, project, project.organisation, run.created_by = found
    run.project = project
    return run


def _role_for(target: Run | Job | LoggedModel) -> Role:
    """That its creator needs to log to it: who submits writes to own jobs, and to nothing else of the project."""
    return Role.SUBMITTER if isinstance(target, Job) else Role.MEMBER


def public_id(model: LoggedModel) -> str:
    """As MLflow's clients know a logged model."""
    return f"{LOGGED_PREFIX}{model.pk.hex}"


def uuid_of(text: str, *, field: str) -> UUID:
    """Raises NotFoundError for what is no id of ours."""
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFoundError(f"There is no {field.removesuffix('_id')} {text[:100]!r}.", field=field) from error
