// SPDX-License-Identifier: Apache-2.0
// A part of the page as a picture: what is drawn is copied with the styles that it has there, so that it needs no style sheet.
import { saveCanvas, saveText } from "@/lib/download";

const SVG = "http://www.w3.org/2000/svg";
const PIXELS = 2; // of a picture for each of the page's: it is for slides
const MOST_PIXELS = 16_000; // a browser draws no larger canvas
const MARGIN = 8;
const LINES = 1.9; // of two, their height is twice as much
const LEFT_OUT = "[data-no-picture], script, style, noscript";
/** Names and drawings stay cut where the page cuts them; what it scrolls is shown whole. */
const CUTTING = new Set(["span", "p", "svg"]);
/** What decides how something looks. All that a browser knows would be six times as much. */
const PROPERTIES = [
  "display", "position", "inset", "box-sizing", "width", "height", "min-width", "min-height", "margin", "padding", "float", "clear", "z-index",
  "flex", "flex-flow", "order", "align-items", "align-content", "align-self", "justify-content", "justify-items", "justify-self", "gap",
  "grid-template", "grid-auto-flow", "grid-area", "opacity", "visibility", "color", "background", "background-size", "background-position", "background-repeat",
  "border-top", "border-right", "border-bottom", "border-left", "border-radius", "border-image", "border-collapse", "border-spacing", "outline", "outline-offset",
  "box-shadow", "clip", "clip-path", "transform", "transform-origin", "object-fit", "list-style", "vertical-align", "text-align", "text-decoration", "text-overflow",
  "text-transform", "text-indent", "white-space", "overflow-wrap", "word-break", "line-height", "letter-spacing", "direction", "unicode-bidi", "font-family",
  "font-size", "font-weight", "font-style", "font-variant-numeric", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "stroke-linejoin",
  "text-anchor", "dominant-baseline", "paint-order", "vector-effect",
] as const;

/** The element as it looks now, whole, on the page's own background. */
export function savePicture(name: string, element: Element, type: "svg" | "png"): void {
  const { text, width, height } = pictureOf(element);
  if (type === "svg") {
    saveText(`${name}.svg`, text, "image/svg+xml");
    return;
  }
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(PIXELS, MOST_PIXELS / Math.max(width, height));
    const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    saveCanvas(`${name}.png`, canvas);
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function pictureOf(element: Element): { text: string; width: number; height: number } {
  const box = extentOf(element);
  const [width, height] = [Math.ceil(box.width) + 2 * MARGIN, Math.ceil(box.height) + 2 * MARGIN];
  const picture = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) picture.setAttribute(name, String(value));
  picture.style.setProperty("background", getComputedStyle(document.body).backgroundColor);
  const frame = document.createElementNS(SVG, "foreignObject");
  for (const [name, value] of Object.entries({ x: MARGIN, y: MARGIN, width: width - MARGIN, height: height - MARGIN })) frame.setAttribute(name, String(value));
  const copy = copyOf(element);
  if (copy !== null) frame.append(copy);
  picture.append(frame);
  return { text: new XMLSerializer().serializeToString(picture), width, height };
}

/** Of all that is in it, also where one would have to scroll; what a drawing has outside of its frame is not seen. */
function extentOf(element: Element): { width: number; height: number } {
  const own = element.getBoundingClientRect();
  let [right, bottom] = [own.right, own.bottom];
  for (const one of element.querySelectorAll("*")) {
    if (one.closest(LEFT_OUT) !== null || (one instanceof SVGElement && one.ownerSVGElement !== null)) continue;
    const { width, height, ...box } = one.getBoundingClientRect().toJSON() as DOMRect;
    if (width > 0 && height > 0) [right, bottom] = [Math.max(right, box.right), Math.max(bottom, box.bottom)];
  }
  return { width: right - own.left, height: bottom - own.top };
}

function copyOf(source: Element): Element | null {
  if (source.matches(LEFT_OUT)) return null;
  if (source instanceof HTMLCanvasElement) {
    const drawn = Object.assign(document.createElement("img"), { src: source.toDataURL("image/png") });
    dress(drawn, getComputedStyle(source));
    return drawn;
  }
  const copy = document.createElementNS(source.namespaceURI, source.localName);
  for (const { name, value } of source.attributes) if (!["style", "class"].includes(name) && !name.includes(":")) copy.setAttribute(name, value);
  if (copy instanceof HTMLElement || copy instanceof SVGElement) {
    const styles = getComputedStyle(source);
    dress(copy, styles, CUTTING.has(source.localName) && (source instanceof SVGElement || source.scrollWidth > source.clientWidth));
    if (copy instanceof HTMLElement && isOneLine(source, styles)) copy.style.setProperty("white-space", "nowrap");
  }
  addPseudo(source, copy, "::before");
  for (const child of source.childNodes) {
    if (child instanceof Element) {
      const inner = copyOf(child);
      if (inner !== null) copy.append(inner);
    } else if (child instanceof Text) copy.append(child.data);
  }
  addPseudo(source, copy, "::after");
  return copy;
}

/** What is one line here stays one: widths are rounded, and a picture has no fonts from the network. */
function isOneLine(source: Element, styles: CSSStyleDeclaration): boolean {
  const hasText = [...source.childNodes].some((node) => node instanceof Text && node.data.trim() !== "");
  return hasText && source.getBoundingClientRect().height < LINES * (Number.parseFloat(styles.lineHeight) || Number.parseFloat(styles.fontSize));
}

/** Marks that only a style sheet draws, such as the tips of arrows. */
function addPseudo(source: Element, copy: Element, which: "::before" | "::after"): void {
  if (!(source instanceof HTMLElement)) return;
  const styles = getComputedStyle(source, which);
  if (["none", "normal", ""].includes(styles.content) || styles.display === "none") return;
  const mark = document.createElement("span");
  const text = /^"(.*)"$/.exec(styles.content)?.[1];
  if (text !== undefined) mark.append(text);
  dress(mark, styles);
  copy.append(mark);
}

function dress(copy: HTMLElement | SVGElement, styles: CSSStyleDeclaration, isCut = false): void {
  for (const name of PROPERTIES) {
    const value = styles.getPropertyValue(name);
    if (value !== "") copy.style.setProperty(name, value);
  }
  copy.style.setProperty("overflow", isCut ? styles.overflow : "visible");
}
