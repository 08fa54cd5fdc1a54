"use strict";
const data = JSON.parse(document.getElementById("cases").textContent);
const at = id => document.getElementById(id), PAGE = 25;
const made = (name, text, kind) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
let found = [], shown = 0;

function line(segments) {
  const whole = made("div", undefined, "line");
  whole.dir = "auto";
  for (const segment of segments) {
    const [text, bars, tags] = typeof segment === "string" ? [segment, [], []] : segment;
    for (const [label, track, flags] of tags) {
      const tag = made("b", undefined, flags & 1 ? "tag r" : "tag");
      tag.dataset.label = data.labels[label];
      tag.style.cssText = `--t:${track + 1};--c:var(${flags & 4 ? "--faint" : "--l" + label})`;
      whole.append(tag);
    }
    if (!bars.length) { whole.append(text); continue; }
    const outer = made("span", undefined, "s"), inner = made("span", text), depth = bars.at(-1)[1] + 1;
    const colour = ([label, , flags]) => flags & 4 ? `color-mix(in srgb,var(--l${label}) 35%,var(--paper))` : `var(--l${label})`;
    outer.style.cssText = `--n:${depth}`;
    inner.style.backgroundImage = bars.map(bar => bar[2] & 1 ? `linear-gradient(${colour(bar)} 0 0)`
      : `repeating-linear-gradient(90deg,${colour(bar)} 0 3px,transparent 3px 6px)`).join();
    inner.style.backgroundSize = bars.map(bar => `${bar[2] & 2 ? "calc(100% - 1.5px)" : "100%"} ${bar[2] & 1 ? 3 : 1.5}px`).join();
    inner.style.backgroundPosition = bars.map(bar => `0 calc(100% - ${(depth - bar[1]) * 16 - (bar[2] & 1 ? 3 : 2)}px)`).join();
    outer.append(inner);
    whole.append(outer);
  }
  return whole;
}

function drawn(one) {
  const article = made("article"), header = made("header"), sides = made("div", undefined, "sides");
  header.append(made("b", one.kind), made("span", one.said), made("span", `${one.id}, character ${one.at}`, "place"));
  for (const element of header.children) element.dir = "auto";
  one.sides.forEach((lines, number) => {
    const side = made("div");
    side.append(made("h3", data.sides[number]), ...lines.map(line));
    sides.append(side);
  });
  article.append(header, sides);
  return article;
}

function more() {
  at("list").append(...found.slice(shown, shown + PAGE).map(drawn));
  shown = Math.min(shown + PAGE, found.length);
  at("more").hidden = shown >= found.length;
}

function filter() {
  const kinds = new Set([...document.querySelectorAll("#filter [name=kind]:checked")].map(box => box.value));
  const label = at("label").value, words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  found = data.cases.filter(one => (!kinds.size || kinds.has(one.kind)) && (!label || one.labels.includes(label))
    && words.every(word => one.search.includes(word)));
  shown = 0;
  at("list").replaceChildren();
  at("count").textContent = `${found.length.toLocaleString("en")} of ${data.cases.length.toLocaleString("en")}`;
  more();
}

const text = one => one.sides[0].map(line => line.map(part => typeof part === "string" ? part : part[0]).join("")).join("\n");
for (const one of data.cases) one.search = [text(one), one.said, one.id, one.kind, ...one.labels].join("\n").toLowerCase();
for (const label of [...new Set(data.cases.flatMap(one => one.labels))].sort()) at("label").append(made("option", label));
at("filter").addEventListener("submit", event => event.preventDefault());
at("filter").addEventListener("input", filter);
at("more").addEventListener("click", more);
filter();
