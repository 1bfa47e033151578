// SPDX-License-Identifier: Apache-2.0
// markAlike(within): marks what repeats on the page that is shown, all but the first two of elements that are alike.
//
// Alike are elements of the same markup and the same computed colours and text sizes, all the way down, in places that are
// alike all the way up. Texts and addresses may differ, but not whether there is one, nor whether what they refer to is there,
// nor whether one can hit them. It is to be called again after a change of the colour scheme.
window.markAlike = (() => {
  const MARK = "data-alike";
  const KEPT = 2;
  const TARGET = 24; // the least size of WCAG 2.2 in pixels
  const TARGETS = "a[href], button, input, select, textarea, summary, [tabindex], [role]";
  const REFERENCES = /^(for|list|form|headers|aria-(labelledby|describedby|controls|owns|activedescendant|errormessage|details|flowto))$/;
  const NUMBERED = /^(style|d|points|transform|width|height|x|y|x1|x2|y1|y2|cx|cy|aria-(valuenow|rowindex|colindex|posinset))$/;
  const FREE = /^(href|src|value|title|alt|placeholder|datetime|download|aria-label|aria-valuetext)$|^data-/;
  const NUMBERS = /[-+]?[\d.]+/g;
  const OWN_CLASS = /__m__\S*/g; // Mantine's, of one element
  const SYMBOLS = /[^\p{L}\p{N}\p{P}\p{Z}]/u; // of them axe asks for less
  const STYLES = [
    "display", "visibility", "opacity", "color", "background-color", "background-image", "font-size", "font-weight",
    "text-shadow", "text-decoration-line", "filter", "mix-blend-mode", "position", "z-index", "clip-path", "overflow-x", "overflow-y",
  ];
  const numbers = new Map();
  const seen = new Map();
  const ids = new Map();
  let targets;

  function number(text) {
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  }

  function attribute({ name, value }) {
    if (name === MARK) return "";
    if (name === "id") return `id:${ids.get(value)}`;
    if (REFERENCES.test(name)) return `${name}:${value.split(/\s+/).map((id) => ids.get(id) ?? 0)}`;
    if (NUMBERED.test(name)) return `${name}=${value.replace(NUMBERS, "#")}`;
    if (FREE.test(name)) return `${name}:${value.trim() !== ""}`;
    return `${name}=${value.replace(OWN_CLASS, "__m__")}`;
  }

  function size(element, { width, height, left, top }) {
    if (width >= TARGET && height >= TARGET) return "large";
    const [x, y, reach] = [left + width / 2, top + height / 2, TARGET / 2];
    const isNear = (at) => at.left < x + reach && at.right > x - reach && at.top < y + reach && at.bottom > y - reach;
    const isCrowded = targets.some(([other, at]) => isNear(at) && !other.contains(element) && !element.contains(other));
    return `${Math.min(width, TARGET)} ${Math.min(height, TARGET)} ${isCrowded}`;
  }

  function clipped(element) {
    const { clientWidth, clientHeight, scrollWidth, scrollHeight } = element;
    return [clientWidth === 0, clientHeight === 0, scrollWidth > clientWidth, scrollHeight > clientHeight];
  }

  function text(element) {
    const own = Array.from(element.childNodes, (node) => (node.nodeType === Node.TEXT_NODE ? node.data : "")).join("").trim();
    return [Math.min(own.length, 2), SYMBOLS.test(own)]; // of a single character axe does not judge
  }

  function kind(element) {
    const style = getComputedStyle(element);
    const place = element.getBoundingClientRect();
    return [
      element.tagName,
      ...Array.from(element.attributes, attribute).filter(Boolean).sort(),
      ...STYLES.map((name) => style.getPropertyValue(name)),
      element.matches(TARGETS) ? size(element, place) : "",
      style.overflowX === "visible" && style.overflowY === "visible" ? "" : clipped(element),
      place.right + scrollX <= 0 || place.bottom + scrollY <= 0,
      text(element),
    ].join("\n");
  }

  function look(element) {
    const own = number(kind(element));
    const children = Array.from(element.children, look);
    return { element, children, own, whole: number([own, ...children.map(({ whole }) => whole)].join(" ")) };
  }

  function mark({ children, own }, around) {
    const here = number(`${around} in ${own}`);
    for (const child of children) {
      const key = `${here}: ${child.whole}`;
      const times = (seen.get(key) ?? 0) + 1;
      seen.set(key, times);
      if (times > KEPT) child.element.setAttribute(MARK, "");
      else mark(child, here);
    }
  }

  return (within) => {
    for (const element of document.querySelectorAll(`[${MARK}]`)) element.removeAttribute(MARK);
    for (const known of [numbers, seen, ids]) known.clear();
    for (const { id } of document.querySelectorAll("[id]")) ids.set(id, (ids.get(id) ?? 0) + 1);
    targets = Array.from(document.querySelectorAll(TARGETS), (target) => [target, target.getBoundingClientRect()]);
    mark(look(document.querySelector(within)), "");
  };
})();

// One element that stands for all that is marked: axe compares each element with each that is to be left out.
(() => {
  const all = document.createElement("i");
  all.id = "alike";
  all.hidden = true;
  all.contains = (node) => node.closest("[data-alike]") !== null;
  document.body.append(all);
})();
