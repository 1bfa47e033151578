// SPDX-License-Identifier: Apache-2.0
// Sends a file by tus-js-client; standard input has {module, file, options} as JSON.
const fs = require("node:fs");

const { module: path, file, options } = JSON.parse(fs.readFileSync(0, "utf8"));
const { Upload } = require(path);
const upload = new Upload(fs.createReadStream(file), {
  ...options,
  uploadSize: fs.statSync(file).size,
  onSuccess: () => process.exit(0),
  onError: (error) => {
    console.error(String(error));
    process.exit(1);
  },
});
upload.start();
