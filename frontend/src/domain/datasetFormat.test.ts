// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { formatOfFolder } from "@/domain/datasetFormat";

describe("the format of a folder", () => {
  it.each([
    [["cats/1.png", "dogs/2.JPG"], undefined],
    [["train/cats/1.png"], undefined],
    [["0.tar", "1.tar"], "webdataset"],
    [["dog/1.wav", "rain/2.FLAC"], "audio_folder"],
    [["audio/1.wav", "labels.json"], "files"],
    [["images/1.png", "annotations.json"], "files"],
    [["1.png", "2.png"], "files"],
  ])("of %j is %s", (names, format) => {
    expect(formatOfFolder(names)).toBe(format);
  });
});
