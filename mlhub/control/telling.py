"""The scheduler's reasons as the job's own people may read them: names for ids, and none of other organisations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlhub.jobs.models import Job
from scheduler.decisions import Explanation

SOMEBODY_ELSE = "another organisation's job"


@dataclass(frozen=True)
class Teller:
    """names: of every job of the round, by id, with the organisation that it is of."""

    names: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, jobs: Mapping[str, Job]) -> Teller:
        return cls({id: (job.name, str(job.project.organisation_id)) for id, job in jobs.items()})

    def tell(self, job: Job, explanations: Sequence[Explanation]) -> list[dict[str, Any]]:
        """[{reason, sentence, facts}] as the API shows them."""
        organisation = str(job.project.organisation_id)
        told = []
        for explanation in explanations:
            facts = {key: self._named(value, organisation) for key, value in explanation.facts.items()}
            shown = replace(explanation, facts=facts)
            plain = json.loads(json.dumps(facts, default=str))
            told.append({"reason": str(shown.reason), "sentence": shown.sentence, "facts": plain})
        return told

    def _named(self, value: Any, organisation: str) -> Any:
        if not isinstance(value, str) or value not in self.names:
            return value
        name, owner = self.names[value]
        return name if owner == organisation else SOMEBODY_ELSE
