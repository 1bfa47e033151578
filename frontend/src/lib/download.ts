// SPDX-License-Identifier: Apache-2.0
// Files that the page itself makes: rows as CSV, drawings as PNG.

type Cell = string | number | null | undefined;

/** Rows as CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export function csvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(cellText).join(",")).join("\r\n") + "\r\n";
}

export function saveText(name: string, text: string, type = "text/csv"): void {
  save(name, new Blob([text], { type }));
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => {
    if (blob !== null) save(name, blob);
  }, "image/png");
}

const PIXELS = 2; // of a picture for each of the drawing's: it is for slides

/** The drawing as it is, on the page's own background; it must name its colours and sizes itself. */
export function saveDrawing(name: string, drawing: SVGSVGElement, type: "svg" | "png"): void {
  const { width, height } = drawing.viewBox.baseVal;
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  const text = new XMLSerializer().serializeToString(copy);
  if (type === "svg") {
    saveText(name, text, "image/svg+xml");
    return;
  }
  const image = new Image();
  image.onload = () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: width * PIXELS, height: height * PIXELS });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    saveCanvas(name, canvas);
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function save(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}
