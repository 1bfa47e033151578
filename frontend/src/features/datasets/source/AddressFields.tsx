// SPDX-License-Identifier: Apache-2.0
// The address of a file, the file that it must be, and which secrets let the platform in.
import { t } from "@lingui/core/macro";
import { SimpleGrid, Textarea, TextInput } from "@mantine/core";

import type { Sending } from "@/components/form/upload/UploadForm";
import { type AddressValues, isOfShards, schemeOf } from "@/features/datasets/source/address";

interface Props extends Sending {
  values: AddressValues;
  onChange: (values: AddressValues) => void;
}

const MOST_ROWS = 8;
const PATTERN = "train-{000000..000099}.tar";

type SecretPurpose = keyof AddressValues["secrets"];

export function AddressFields({ values, onChange, isDisabled, problem }: Props) {
  const scheme = schemeOf(values.uri);
  const text = (name: "uri" | "sha256" | "endpoint" | "region") => ({
    value: values[name],
    disabled: isDisabled,
    autoComplete: "off",
    spellCheck: false,
    onChange: (event: { currentTarget: { value: string } }) => onChange({ ...values, [name]: event.currentTarget.value }),
    error: problem?.of(`source.${name}`),
  });
  const secret = (purpose: SecretPurpose) => ({
    value: values.secrets[purpose],
    disabled: isDisabled,
    autoComplete: "off",
    spellCheck: false,
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ ...values, secrets: { ...values.secrets, [purpose]: event.currentTarget.value } }),
    error: problem?.of(`source.secrets.${purpose}`),
  });
  return (
    <>
      <Textarea
        label={t`Address`}
        description={<>
          {t`https://, s3://bucket/key, hf://datasets/OWNER/NAME@REVISION/PATH, or file:// in a folder of the site`}
          <br />
          {t`Of several shards: ${PATTERN}, or one address a line`}
        </>}
        placeholder={t`https://example.org/data/iris.csv`}
        rows={Math.min(MOST_ROWS, values.uri.split("\n").length)}
        {...text("uri")}
        error={problem?.of("source.uri") ?? shardProblem(problem)}
      />
      {!isOfShards(values.uri) && (
        <TextInput
          label="SHA-256"
          description={t`If given, any other file is refused`}
          maxLength={64}
          {...text("sha256")}
        />
      )}
      {(scheme === "https" || scheme === "hf") && (
        <TextInput label={t`Secret with a token`} description={t`Name of a secret of the project, if the address needs one`} {...secret("token")} />
      )}
      {scheme === "s3" && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput label={t`Secret with the key's id`} description={t`Empty for a public bucket`} {...secret("access_key_id")} />
          <TextInput label={t`Secret with the key`} description={t`Names of secrets of the project`} {...secret("secret_access_key")} />
          <TextInput label={t`Endpoint`} description={t`Of a store that is not Amazon's`} {...text("endpoint")} />
          <TextInput label={t`Region`} placeholder="us-east-1" {...text("region")} />
        </SimpleGrid>
      )}
    </>
  );
}

/** What is wrong with one address of a list. */
function shardProblem(problem: Sending["problem"]): string | undefined {
  const wrong = problem?.errors.find(({ field }) => field.startsWith("source.shards"));
  return wrong?.message;
}
