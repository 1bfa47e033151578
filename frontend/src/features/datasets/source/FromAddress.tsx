// SPDX-License-Identifier: Apache-2.0
// The forms of a new dataset and of a new version whose file the platform fetches from an address.
import { t } from "@lingui/core/macro";
import { Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, type SubmitEvent, useState } from "react";
import { useNavigate } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import type { DatasetVersion } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ProjectSelect, useUsableProject } from "@/components/form/choice/ProjectSelect";
import { SubmitLine } from "@/components/form/upload/SubmitLine";
import { type FileValues, NO_FILE, ReadingFields, valuesOf } from "@/features/datasets/upload/FileFields";
import { AddressFields } from "@/features/datasets/source/AddressFields";
import { type AddressValues, filenameOf, nameFor, NO_ADDRESS, requestOf } from "@/features/datasets/source/address";

interface VersionProps {
  datasetId: string;
  options: unknown;
  onMade: (version: DatasetVersion) => void;
}

export function VersionFromAddress({ datasetId, options, onMade }: VersionProps) {
  const [address, setAddress] = useState(NO_ADDRESS);
  const [reading, setReading] = useState(() => valuesOf(options));
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () => {
      const params = { path: { id: datasetId } };
      return unwrap(api.POST("/api/v1/datasets/{id}/references", { params, body: requestOf(address, reading) }));
    },
    onSuccess: (version) => {
      void queries.invalidateQueries({ queryKey: ["dataset"] });
      onMade(version);
    },
  });
  return <Form address={address} onAddress={setAddress} reading={reading} onReading={setReading} make={make} />;
}

export function DatasetFromAddress() {
  const [address, setAddress] = useState(NO_ADDRESS);
  const [reading, setReading] = useState(NO_FILE);
  const [chosenProject, setChosenProject] = useState("");
  const [typedName, setTypedName] = useState<string>();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const name = typedName ?? nameFor(address.uri);
  const project = useUsableProject("upload", chosenProject)?.id ?? "";
  const make = useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/v1/datasets/references", { body: { ...requestOf(address, reading), name: name.trim(), project } })),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ["datasets"] });
      void navigate(`/datasets/${id}`);
    },
  });
  const problem = make.error instanceof Problem ? make.error : undefined;
  return (
    <Form
      address={address}
      onAddress={setAddress}
      reading={reading}
      onReading={setReading}
      make={make}
      lacking={project === "" ? t`Make or choose a project first.` : name.trim() === "" ? t`Give it a name first.` : ""}
    >
      <ProjectSelect may="upload" value={project} onChange={setChosenProject} error={problem?.of("project")} />
      <TextInput
        label={t`Name`}
        value={name}
        maxLength={100}
        disabled={make.isPending}
        onChange={(event) => setTypedName(event.currentTarget.value)}
        error={problem?.of("name")}
      />
    </Form>
  );
}

interface FormProps {
  address: AddressValues;
  onAddress: (values: AddressValues) => void;
  reading: FileValues;
  onReading: (values: FileValues) => void;
  make: { mutate: () => void; isPending: boolean; error: unknown };
  /** What besides the address has to be given first, as a sentence; "": nothing. */
  lacking?: string;
  children?: ReactNode;
}

function Form({ address, onAddress, reading, onReading, make, lacking = "", children }: FormProps) {
  const sending = { isDisabled: make.isPending, problem: make.error instanceof Problem ? make.error : undefined };
  const filename = filenameOf(address.uri) || undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  return (
    <form onSubmit={submit}>
      <Stack>
        <AddressFields values={address} onChange={onAddress} {...sending} />
        <ReadingFields values={reading} onChange={onReading} filename={filename} {...sending} />
        {children}
        <ProblemAlert error={make.error} atFields={["source.uri", "format", "target", "project", "name"]} />
        <SubmitLine label={t`Fetch`} missing={address.uri.trim() === "" ? t`Give an address first.` : lacking} isSending={make.isPending} />
      </Stack>
    </form>
  );
}
