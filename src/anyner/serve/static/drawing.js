// Draws the lines that the server laid out, and maps the drawing back to the text. Offsets count Unicode characters (code points), as
// the server's do; JavaScript strings count UTF-16 units.
export const characters = text => Array.from(text).length;

export const made = (name, text, kind) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};

export const swatch = colour => {
  const square = made("i");
  square.style.setProperty("--c", `var(--p${colour})`);
  return square;
};

// The lines as elements. Entities for which `shown` is false are left out.
export function drawn({ lines, entities, colours }, shown) {
  const visible = ([number]) => shown(entities[number]);
  const colour = ([number]) => `var(--p${colours[entities[number].label]})`;
  return lines.map(({ start, segments }) => {
    const line = made("div", undefined, "line");
    line.dir = "auto";
    line.dataset.start = start;
    for (const [text, allBars, allTags] of segments) {
      const bars = allBars.filter(visible);
      for (const tag of allTags.filter(visible)) {
        const element = made("b", undefined, tag[2] ? "tag r" : "tag");
        element.dataset.label = entities[tag[0]].label;
        element.dataset.e = tag[0];
        element.style.setProperty("--t", tag[1] + 1);
        element.style.setProperty("--c", colour(tag));
        line.append(element);
      }
      if (!bars.length) { line.append(text); continue; }
      const outer = made("span", undefined, "s"), inner = made("span", text), depth = bars.at(-1)[1] + 1;
      outer.dataset.e = bars.map(([number]) => number).join(" ");
      outer.style.setProperty("--n", depth);
      inner.style.backgroundImage = bars.map(bar => bar[2] ? `linear-gradient(${colour(bar)} 0 0)`
        : `repeating-linear-gradient(90deg,${colour(bar)} 0 3px,transparent 3px 6px)`).join();
      inner.style.backgroundSize = bars.map(bar => `${bar[3] ? "calc(100% - 1.5px)" : "100%"} ${bar[2] ? 3 : 1.5}px`).join();
      inner.style.backgroundPosition = bars.map(bar => `0 calc(100% - ${(depth - bar[1]) * 16 - (bar[2] ? 3 : 2)}px)`).join();
      outer.append(inner);
      line.append(outer);
    }
    return line;
  });
}

// The offset in the text of a point in the drawing.
function place(drawing, node, offset) {
  const line = node === drawing ? drawing.children[Math.min(offset, drawing.children.length - 1)]
    : (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest(".line");
  const before = document.createRange();
  before.selectNodeContents(line);
  if (node !== drawing) before.setEnd(node, offset);
  else if (offset < drawing.children.length) before.collapse(true);
  return Number(line.dataset.start) + characters(before.toString());
}

// The selected range of the drawing as [start, end]; null if nothing in it is selected.
export function selectedIn(drawing) {
  const selection = document.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!drawing.contains(range.startContainer) || !drawing.contains(range.endContainer)) return null;
  return [place(drawing, range.startContainer, range.startOffset), place(drawing, range.endContainer, range.endOffset)];
}

function point(line, left) {
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let last = null;
  while (walker.nextNode()) {
    last = walker.currentNode;
    const all = Array.from(last.data);
    if (left <= all.length) return [last, all.slice(0, left).join("").length];
    left -= all.length;
  }
  return last ? [last, last.data.length] : [line, 0];
}

// Highlights ranges of the text without changing the drawing, if the browser supports it.
export function mark(drawing, fragments) {
  if (!globalThis.CSS?.highlights) return;
  const ranges = [], lines = [...drawing.children];
  lines.forEach((line, number) => {
    const start = Number(line.dataset.start);
    const end = number + 1 < lines.length ? Number(lines[number + 1].dataset.start) : Infinity;
    for (const [from, to] of fragments.filter(([from, to]) => from < end && to > start)) {
      const range = document.createRange();
      range.setStart(...point(line, Math.max(from - start, 0)));
      range.setEnd(...point(line, to - start));
      ranges.push(range);
    }
  });
  CSS.highlights.set("chosen", new Highlight(...ranges));
}
