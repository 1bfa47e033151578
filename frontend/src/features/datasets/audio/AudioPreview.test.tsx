// SPDX-License-Identifier: Apache-2.0
// The page of a dataset of audio: what its clips are, and some to look at and to listen to.
import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";

import { duration } from "@/features/datasets/audio/units";
import { dataset, datasetVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, page, server } from "@/testing/server";

const CLIP = {
  name: "sounds/dog/1.wav",
  label: "dog",
  duration_s: 0.2,
  sample_rate: 44100,
  channels: 2,
  waveform: [0, 1],
  is_playable: true,
};
const STATISTICS = {
  kind: "audio",
  n_clips: 3,
  total_s: 75,
  duration: { min_s: 1, median_s: 4, max_s: 70, histogram: { edges: [1, 35, 70], counts: [2, 1] } },
  sample_rates: [
    { value: 8000, n: 2 },
    { value: 44100, n: 1 },
  ],
  channels: [{ value: 1, n: 3 }],
  formats: [{ value: "WAV", n: 3 }],
  classes: [],
  n_cut: 1,
  n_padded: 2,
  n_silent: 1,
};

it("draws the clips, plays them from the route of their number, and says what becomes of them", async () => {
  const version = datasetVersion({
    format: "audio_folder",
    schema: { task: "classification", n_examples: 3, input_shape: [1, 80000], sample_rate: 8000, classes: ["cat", "dog"], class_counts: [1, 2] },
    preview: { kind: "audio", clips: [CLIP, { ...CLIP, name: "cat/2.flac", is_playable: false }] },
    statistics: STATISTICS,
  });
  server.use(
    answers("/api/v1/datasets/{id}", dataset({ latest_version: version })),
    answers("/api/v1/datasets/{id}/versions", page([version])),
    answers("/api/v1/dataset-versions/{id}", version),
  );
  renderPage(`/datasets/${dataset().id}`);
  const preview = within(await screen.findByRole("region", { name: "Preview" }));
  const player = await preview.findByLabelText("Listen to 1.wav");
  expect(player).toHaveAttribute("src", `/api/v1/dataset-versions/${version.id}/clips/0`);
  expect(preview.getByRole("img", { name: "Waveform of 1.wav" })).toBeInTheDocument();
  expect(preview.getAllByText("0.2 s · 44.1 kHz · stereo")).toHaveLength(2);
  expect(preview.queryByLabelText("Listen to 2.flac")).toBeNull();
  expect(preview.getByText("Too large to be played here.")).toBeInTheDocument();

  const clips = within(await screen.findByRole("region", { name: "Clips" }));
  expect(await clips.findByText("1 s to 1:10 min, median 4 s")).toBeInTheDocument();
  expect(clips.getByText("8 kHz (2), 44.1 kHz (1)")).toBeInTheDocument();
  expect(clips.getByText(/1 clip is longer than an example, 10 s/)).toBeInTheDocument();
  expect(clips.getByText(/2 clips are shorter than an example/)).toBeInTheDocument();
  expect(clips.getByText("1 clip is silent.")).toBeInTheDocument();
  expect(duration(8280)).toBe("2.3 h");
});
